"""What a hand holds, to try: hang a bag on it, tell the dynamics node, zero its sensor. A folder for each hand."""

from __future__ import annotations

from collections.abc import Mapping

import viser

from .controls import Ask
from .snapshot import Load

BAG = 2.0  # kg


class LoadFolder:
    """The folder of one hand."""

    def __init__(self, gui: viser.GuiApi, hand: str, ask: Ask) -> None:
        self._hand = hand
        with gui.add_folder(f'{hand} hand: bag, sensor', expand_by_default=False):
            self._mass = gui.add_number(
                'bag (kg)', BAG, min=0.0, step=0.1, hint="a point at the origin of the hand's frame; 0: none"
            )
            self._hang = gui.add_button(
                'Hang it on', disabled=True, hint='in the simulator alone: the node does not know, and the hand sinks'
            )
            self._tell = gui.add_button(
                'Tell the node', disabled=True, hint=f'sets {hand}.payload of the dynamics node: the hand holds'
            )
            self._zero = gui.add_button(
                'Zero the sensor', disabled=True, color='gray',
                hint=f'calls wrench/{hand}/zero: what the sensor reads now is nothing but known weight',
            )  # fmt: skip
            self._words = gui.add_html('')
        # The mass is read when the node acts, not here: one that was typed just before is on its way.
        self._hang.on_click(lambda _: ask(lambda controls: controls.hang(hand, self._mass.value)))
        self._tell.on_click(lambda _: ask(lambda controls: controls.tell_payload(hand, self._mass.value)))
        self._zero.on_click(lambda _: ask(lambda controls: controls.zero_sensor(hand)))

    def show(self, loads: Mapping[str, Load]) -> None:
        """Say what hangs there and what the node knows of; grey what cannot be asked."""
        load = loads.get(self._hand, Load())
        for control, known in ((self._hang, load.hung), (self._tell, load.told), (self._zero, load.told)):
            if control.disabled != (known is None):
                control.disabled = known is None
        words = f'<p class="note">{_words(load)}</p>'
        if self._words.content != words:
            self._words.content = words


def _words(load: Load) -> str:
    hung = '' if load.hung is None else f'{load.hung:g} kg hang on it. '
    told = 'No dynamics node.' if load.told is None else f'The node knows of {load.told:g} kg.'
    return hung + told
