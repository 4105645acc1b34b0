/// The name of a key path as code spells it.
enum KeyPathName {
  /// `.population` for `\City.population`; nil for paths that lead through a computed property, whose name only shows an
  /// address.
  static func path(of keyPath: AnyKeyPath, from root: Any.Type) -> String? {
    var text = String(describing: keyPath)
    if type(of: keyPath).valueType is any DescendingValue.Type,
      let turn = text.ranges(of: ".<computed").last
    {
      // A property under `descending` is named like the property itself.
      text = String(text[..<turn.lowerBound])
    }
    // A folded text whose owner is another type than a text is a property that the app computes.
    if [FoldedText.self, FoldedText?.self].contains(where: { $0 == type(of: keyPath).valueType }),
      let fold = text.ranges(of: ".<computed").last, root == String.self || text[..<fold.lowerBound] != "\\\(root)"
    {
      text = text[..<fold.lowerBound] + ".folded"
    }
    let start = "\\\(String(describing: root))."
    guard text.hasPrefix(start), !text.contains("<computed"), !text.contains("0x"), !text.contains("[") else {
      return nil
    }
    let path = text.dropFirst(start.count)
    return path == "self" ? nil : "." + path
  }
}
