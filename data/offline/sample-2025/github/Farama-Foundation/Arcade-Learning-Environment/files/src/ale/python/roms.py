def get_rom_path(name):
    return f"roms/{name}.bin"
