import Documents

/// Finds the objects of a JSON file in which a name stands more than once, when the file is first read.
///
/// Readings after the first pass over what was looked at already.
final class RepeatedNames {
  /// Up to where the text was looked at.
  private var end = 0
  private var first: (place: String, name: String)?
  private var documents = 0

  /// Looks at one document.
  ///
  /// - Parameter offset: where it begins in the text.
  func see(_ bytes: UnsafeRawBufferPointer, at offset: Int, place: @autoclosure () -> SourcePlace) {
    guard offset >= end else { return }
    end = offset + bytes.count
    guard let name = Self.find(in: bytes) else { return }
    documents += 1
    if first == nil { first = (place().description, name) }
  }

  var notes: [String] {
    guard let first else { return [] }
    let more = documents > 1 ? " (so in \(documents) documents)" : ""
    return ["\(first.place): the name \(first.name) stands twice in one object, and its last value counts\(more)"]
  }

  /// The first name that an object has twice, as it is written; nil if all are there once.
  private static func find(in bytes: UnsafeRawBufferPointer) -> String? {
    // Of each object that is open the hashes of its names and where they lie; of a list nil.
    var open: [[(hash: UInt64, range: Range<Int>)]?] = []
    var (at, isName) = (0, false)
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      switch byte {
      case UInt8(ascii: "{"):
        open.append([])
        isName = true
      case UInt8(ascii: "["): open.append(nil)
      case UInt8(ascii: ","): isName = open.last?.map { _ in true } ?? false
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if let names = open.popLast() ?? nil, let repeated = repeated(names) {
          return String(decoding: bytes[repeated], as: UTF8.self)
        }
      case UInt8(ascii: "\""):
        let start = at
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
        let range = start..<min(at, bytes.count)
        at += 1
        if isName, !open.isEmpty { open[open.count - 1]?.append((hash(bytes[range]), range)) }
        isName = false
      default: break
      }
    }
    return nil
  }

  private static func repeated(_ names: [(hash: UInt64, range: Range<Int>)]) -> Range<Int>? {
    if names.count <= 8 {
      return names.indices.lazy.filter { place in names[..<place].contains { $0.hash == names[place].hash } }
        .first.map { names[$0].range }
    }
    let sorted = names.sorted { $0.hash < $1.hash }
    return zip(sorted, sorted.dropFirst()).first { $0.hash == $1.hash }?.1.range
  }

  private static func hash(_ name: Slice<UnsafeRawBufferPointer>) -> UInt64 {
    let name = UnsafeRawBufferPointer(rebasing: name)
    guard name.contains(UInt8(ascii: "\\")) else { return ValueHash.text(name.bindMemory(to: UInt8.self)) }
    let quoted = [UInt8(ascii: "\"")] + name + [UInt8(ascii: "\"")]
    guard case .string(let text)? = try? JSONParser.parse(quoted) else { return 0 }
    return ValueHash.text(of: text)
  }
}
