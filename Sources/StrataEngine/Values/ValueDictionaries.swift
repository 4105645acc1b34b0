/// The dictionaries of a generation: those trees of records have one whose values are compressed.
struct ValueDictionaries: Sendable, Equatable {
  /// By their numbers, the first of which is 1.
  let all: [ValueDictionary]
  private let byTree: [TreeName: ValueDictionary]

  /// The other bit of a number says how a value was compressed.
  static let most = 127
  private static let blockCodec: UInt8 = 1

  init(_ dictionaries: [ValueDictionary]) {
    all = dictionaries
    byTree = Dictionary(dictionaries.map { ($0.tree, $0) }) { first, _ in first }
  }

  /// Returns nil for a tree whose values are not compressed.
  subscript(tree: TreeName) -> ValueDictionary? { byTree[tree] }

  subscript(number: UInt8) -> ValueDictionary? {
    number > 0 && Int(number) <= all.count ? all[Int(number) - 1] : nil
  }

  // MARK: As bytes

  func encoded() -> [UInt8] {
    let buffer = ByteBuffer()
    buffer.append(UInt16(all.count))
    for dictionary in all {
      buffer.append(byte: dictionary.number)
      buffer.append(byte: Self.blockCodec)
      buffer.append(varint: UInt64(dictionary.tree.bytes.count))
      buffer.append(dictionary.tree.bytes)
      buffer.append(UInt32(dictionary.bytes.count))
      buffer.append(dictionary.bytes)
    }
    return [UInt8](buffer.bytes)
  }

  var encodedLength: Int { encoded().count }

  /// Reads dictionaries; more bytes may follow.
  init(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
    var reader = ByteReader(bytes, what: "dictionaries", offset: FileLayout.firstFrame)
    let count: UInt16 = try reader.fixed()
    guard count > 0, count <= UInt16(Self.most) else { throw reader.damage }
    var found: [ValueDictionary] = []
    for number in 1...UInt8(count) {
      guard try reader.byte() == number, try reader.byte() == Self.blockCodec else { throw reader.damage }
      let name = [UInt8](try reader.read(try reader.varint()))
      let length: UInt32 = try reader.fixed()
      guard name.count <= Limits.treeName, length <= UInt32(ValueDictionary.longest) else { throw reader.damage }
      found.append(ValueDictionary(number, of: TreeName(name), [UInt8](try reader.read(Int(length)))))
    }
    self.init(found)
  }

  /// The dictionaries of a file, from either copy. Returns nil if the file has none, or if both copies are damaged.
  init?(of header: FileHeader, in file: any DiskFile) throws(StorageError) {
    guard let area = header.dictionaryArea else { return nil }
    for offset in area.copies {
      guard let copy = try area.copy(at: offset, in: file, seed: header.seed),
        let found = try? ValueDictionaries(UnsafeRawBufferPointer(copy.bytes))
      else { continue }
      self = found
      return
    }
    return nil
  }

  /// The numbers under which another generation has the same dictionary: values that it compressed may be copied as they are.
  func numbers(keptFrom other: ValueDictionaries?) -> Set<UInt8> {
    Set(
      all.map(\.number).filter { number in
        other?[number]?.tree == self[number]?.tree && other?[number]?.bytes == self[number]?.bytes
      })
  }

  static func == (left: ValueDictionaries, right: ValueDictionaries) -> Bool { left.encoded() == right.encoded() }
}

extension DataFile {
  /// The damage of the dictionaries, if no copy of them can be read.
  var dictionaryDamage: StorageError? {
    guard let area = header.dictionaryArea, dictionaries == nil else { return nil }
    return .damaged(what: "dictionaries", offset: area.offset)
  }
}
