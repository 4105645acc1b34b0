/// The places of the parts of each commit in a data file, read by the text of FORMAT.md and not by the engine's own code.
package struct FrameMap: Sendable {
  package struct Frame: Sendable {
    package var number: UInt64
    package var header: Range<Int>
    package var changes: Range<Int>
    package var nodes: Range<Int>
    package var record: Range<Int>
    package var trailer: Range<Int>

    /// The part by name.
    package subscript(part: Part) -> Range<Int> {
      switch part {
      case .header: header
      case .changes: changes
      case .nodes: nodes
      case .record: record
      case .trailer: trailer
      }
    }
  }

  package enum Part: String, CaseIterable, Sendable { case header, changes, nodes, record, trailer }

  package private(set) var frames: [Frame] = []

  package init(_ bytes: [UInt8]) {
    func number(_ place: Int, _ count: Int) -> Int {
      bytes[place..<(place + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    // Compressed values (bit 0 of the required features) have dictionaries before the first frame.
    let hasDictionaries = bytes.count > 112 && bytes[16] & 1 == 1
    var place = hasDictionaries ? number(104, 8) : 16_384
    while place + 64 <= bytes.count, bytes[place..<(place + 4)].elementsEqual("Fram".utf8) {
      let end = place + number(place + 16, 8)
      let changes = place + 64
      let nodes = changes + number(place + 40, 8)
      let record = nodes + number(place + 48, 8)
      frames.append(
        Frame(
          number: UInt64(number(place + 8, 8)), header: place..<changes, changes: changes..<nodes,
          nodes: nodes..<record,
          record: record..<(record + number(place + 36, 4)), trailer: (end - 16)..<end))
      place = end
    }
  }
}
