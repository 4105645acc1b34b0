// CodableDatastore: see DESIGN in the README.
