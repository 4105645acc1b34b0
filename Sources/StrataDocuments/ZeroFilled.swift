extension String {
  /// The digits with zeros before them, up to a width.
  package func zeroFilled(_ width: Int) -> String {
    String(repeating: "0", count: max(0, width - utf8.count)) + self
  }
}
