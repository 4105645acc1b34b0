/// The name of a file or folder that another file of the store mentions: a datastore, an index, a root, an index
/// manifest.
///
/// Such names are never taken apart, so any text will do that is one component of a path and nothing else. Everything
/// that a file says is checked here before it becomes part of a path: no name leads out of the folder.
package struct FolderName: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  /// The longest component that common file systems take, less the longest extension.
  private static let limit = 255 - ".indexmanifest".utf8.count

  package init?(_ text: String) {
    guard !text.isEmpty, text.utf8.count <= Self.limit, !text.hasPrefix("."),
      !text.utf8.contains(UInt8(ascii: "/")), !text.utf8.contains(0)
    else { return nil }
    self.text = text
  }

  package var description: String { text }
}
