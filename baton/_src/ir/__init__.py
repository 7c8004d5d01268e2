"""What all languages share: node declaration, traversal, structural equality, modules, types, operators, targets."""
