// FolderStore: see DESIGN in the README.
