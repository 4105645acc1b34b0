/// One entry of an index as it is stored in its blocks: headers, an empty line, content.
///
/// ```
/// 12 "2024-04-09"⏎          primary: version and identifier; the content is the record
/// 38 "0865EF73-3718-…"⏎
/// ⏎
/// {"title":"Beloved",…}
/// ```
///
/// A direct index has version, value and identifier before a full copy of the record; a reference index has only the value, and the
/// identifier is the content. Headers are JSON text of the stated length, which may span lines.
package struct Entry: Hashable, Sendable {
  /// The headers' JSON.
  package var headers: [ArraySlice<UInt8>]
  package var content: ArraySlice<UInt8>

  /// The kind of entries in an index.
  package enum Layout: Hashable, Sendable {
    case primary, direct, reference

    package var headerCount: Int {
      switch self {
      case .primary: 2
      case .direct: 3
      case .reference: 1
      }
    }
  }

  /// The longest header that the original library reads back; it writes longer ones and is then stuck with them.
  package static let readableHeaderLimit = 8192

  /// Takes the assembled bytes of an entry apart. `offset` in an error counts from the entry's first byte.
  package init(parsing bytes: [UInt8], as layout: Layout) throws(FormatError) {
    var headers: [ArraySlice<UInt8>] = []
    var at = 0
    while true {
      guard at < bytes.count else { throw FormatError("the entry ends before its content", at: at) }
      if bytes[at] == UInt8(ascii: "\n") { break }
      guard headers.count < layout.headerCount else { throw FormatError("the entry has too many headers", at: at) }
      let (length, start) = try bytes.number(at: at, endingIn: " ", "a header's length")
      guard length > 0 else { throw FormatError("a header's length is not a number", at: at) }
      guard length < bytes.count - start, bytes[start + length] == UInt8(ascii: "\n") else {
        throw FormatError("a header of \(length) bytes does not end in a line feed", at: at)
      }
      headers.append(bytes[start..<start + length])
      at = start + length + 1
    }
    guard headers.count == layout.headerCount else {
      throw FormatError("the entry has \(headers.count) of \(layout.headerCount) headers", at: at)
    }
    self.headers = headers
    self.content = bytes[(at + 1)...]
    self.layout = layout
  }

  private let layout: Layout

  /// The version's JSON; nil in a reference index.
  package var version: ArraySlice<UInt8>? { layout == .reference ? nil : headers.first }
  /// The indexed value's JSON; in the primary index the identifier's.
  package var value: ArraySlice<UInt8> { layout == .reference ? headers[0] : headers[1] }
  /// The identifier's JSON.
  package var identifier: ArraySlice<UInt8> {
    switch layout {
    case .primary: headers[1]
    case .direct: headers[2]
    case .reference: content
    }
  }
  /// The record's bytes; nil in a reference index.
  package var record: ArraySlice<UInt8>? { layout == .reference ? nil : content }
}
