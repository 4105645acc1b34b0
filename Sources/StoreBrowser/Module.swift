// StoreBrowser: see DESIGN in the README.
