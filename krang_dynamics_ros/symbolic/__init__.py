"""The same equations on symbols: formulas, and exports to C, MATLAB, Python and CasADi."""
