import CodableDatastore

// What the suites order by their own `<` alone is kept as bytes here: a server takes nothing else. Each form has the order of its value.

extension Grade: OrderedKey {
  var keyForm: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  init?(keyForm: Int) {
    guard Self.allCases.indices.contains(keyForm) else { return nil }
    self = Self.allCases[keyForm]
  }
}

extension Position: OrderedKey {
  var keyForm: Int { disc * 1_000_000 + number }

  init?(keyForm: Int) { self.init(disc: keyForm / 1_000_000, number: keyForm % 1_000_000) }
}

extension QueryTests.Shop.Kind: OrderedKey {}

extension RandomScriptTests.Depth: OrderedKey {
  /// The longest first: behind how much shorter than any it is.
  var keyForm: String { String(String(1_999 - text.count).dropFirst()) + text }

  init?(keyForm: String) { self.init(text: String(keyForm.dropFirst(3))) }
}

extension RenamingTests.Rating: OrderedKey {
  var keyForm: Int { -stars }

  init?(keyForm: Int) { self.init(stars: -keyForm) }
}
