"""The commands, a module each: `krang <command>`. `COMMANDS` in `__main__.py` lists them."""
