// Atlas: see DESIGN in the README.
