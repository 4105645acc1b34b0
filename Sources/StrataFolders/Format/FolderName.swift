/// The name of a file or folder in another file of the store: a datastore, an index, a root, an index manifest.
///
/// Such names are never parsed, so any text that is exactly one component of a path is valid. All names from files are checked here before
/// they become part of a path: no name leads out of the folder.
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
