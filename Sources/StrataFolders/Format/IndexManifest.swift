/// The list of an index's pages, in the order of its keys (`.indexmanifest`).
///
/// ```
/// INDEX⏎
///  2026-11-20 13-53-53-161 4A9043AB5BC9017E⏎      a page that was there before
/// -2026-11-20 13-53-53-660 D5EC94D8D3596E72⏎      dropped by this commit: no part of the index, its file may be gone
/// +2026-11-20 13-53-53-716 C991054259FC9928⏎      new in this commit
/// ```
///
/// Every line is 42 bytes, the last one too. An index without pages is the first line alone.
package struct IndexManifest: ParsedFile, Hashable, Sendable {
  /// The pages of the index, first to last.
  package var pages: [DatedIdentifier] = []
  /// The pages that this commit added, in the same order.
  package var added: [DatedIdentifier] = []
  /// The pages that this commit dropped.
  package var dropped: [DatedIdentifier] = []
  /// Whether the last line is a dropped page although there are live ones: the original library reads such an index correctly and then
  /// silently loses its own next write to the last page.
  package var endsInDroppedPage = false

  package static let header = Array("INDEX\n".utf8)
  private static let lineLength = 1 + DatedIdentifier.length + 1

  /// Reads a whole manifest. Any byte out of place is an error, because a manifest that is only partly read would show an index with holes.
  package init(parsing bytes: [UInt8]) throws(FormatError) {
    guard bytes.starts(with: Self.header) else {
      throw FormatError("the file does not begin with the line INDEX", at: 0)
    }
    let body = bytes.count - Self.header.count
    pages.reserveCapacity(body / Self.lineLength)
    var line = Self.header.count
    while line < bytes.count {
      guard bytes.count - line >= Self.lineLength else { throw FormatError("the last line is cut short", at: line) }
      guard bytes[line + Self.lineLength - 1] == UInt8(ascii: "\n") else {
        throw FormatError("a line does not end after its identifier", at: line + Self.lineLength - 1)
      }
      guard let page = DatedIdentifier(bytes[line + 1..<line + 1 + DatedIdentifier.length]) else {
        throw FormatError("a line holds no page identifier", at: line + 1)
      }
      switch bytes[line] {
      case UInt8(ascii: " "): pages.append(page)
      case UInt8(ascii: "+"):
        pages.append(page)
        added.append(page)
      case UInt8(ascii: "-"): dropped.append(page)
      default: throw FormatError("a line begins with neither a space, + nor -", at: line)
      }
      endsInDroppedPage = bytes[line] == UInt8(ascii: "-")
      line += Self.lineLength
    }
    if pages.isEmpty { endsInDroppedPage = false }
  }
}
