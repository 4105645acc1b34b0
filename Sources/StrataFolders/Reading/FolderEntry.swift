package import StrataModel

/// An entry of an index, decoded.
package struct FolderEntry: Sendable {
  /// In the primary index this is the identifier itself.
  package var value: StoredKey
  package var identifier: StoredKey
  /// The bytes that identify an entry in its index: the identifier, or value and identifier; for known types they have the entries' order.
  package var key: [UInt8]
  /// Nil in a reference index.
  package var version: VersionTag?
  /// The record's bytes; nil in a reference index.
  package var record: [UInt8]?
  /// The pages that the entry touches, first to last, as numbers in the list.
  package var pages: ClosedRange<Int>
  /// The length of the longest header, in bytes.
  package var longestHeader: Int

  package init(
    at place: EntryList.Place, of entries: EntryList, layout: Entry.Layout, values: ValueType, identifiers: ValueType
  ) throws(FolderError) {
    let stored = try entries.read(place)
    do throws(FormatError) {
      let entry = try Entry(parsing: stored.bytes, as: layout)
      identifier = try identifiers.key(parsing: entry.identifier)
      value = layout == .primary ? identifier : try values.key(parsing: entry.value)
      key =
        layout == .primary ? identifier.bytes : EntryKey.make(value: value.bytes, identifier: identifier.bytes)
      version = try entry.version.map { json throws(FormatError) in try VersionTag(json: json) }
      record = entry.record.map(Array.init)
      pages = place.page...max(place.page, stored.lastPage)
      longestHeader = entry.headers.reduce(layout == .reference ? entry.content.count : 0) { max($0, $1.count) }
    } catch {
      let start = entries.page(place.page)
      let offset = start.blocks[start.starts[place.row]].offset
      let problem = FormatError("the entry that begins at byte \(offset) cannot be read: \(error)")
      throw entries.source.error(of: entries.pages[place.page], problem)
    }
  }
}
