import StrataModel
import Testing

@testable import StrataFolders

/// Every reader of bytes is given thousands of broken files; each must answer with what is wrong, and never trap, loop or
/// reach beyond its bytes.
@Suite("Broken files of every kind")
struct FuzzTests {
  private static let seeds = Array(UInt64(1)...8)

  @Test("pages", arguments: seeds)
  func pages(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    let entries = (0..<40).map {
      FolderBuilder.Entry.record("\($0)", String(repeating: "x", count: Int(numbers.next() % 200))).bytes
    }
    let pages = FolderBuilder.paginate(entries, pageSize: 512)
    for _ in 0..<400 {
      let broken = mutate(pages[Int(numbers.next() % UInt64(pages.count))], &numbers)
      let page = Page(parsing: broken)
      var end = Page.header.count
      for block in page.blocks {
        #expect(block.offset == end)
        #expect(block.payload.lowerBound > block.offset && block.payload.upperBound < broken.count)
        #expect(!block.payload.isEmpty && broken[block.payload.upperBound] == UInt8(ascii: "\n"))
        end = block.payload.upperBound + 1
      }
      #expect(page.damage != nil || end == broken.count)
      #expect(page.starts.count <= page.rowCount)
    }
  }

  @Test("manifests", arguments: seeds)
  func manifests(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    let lines = (0..<20).map {
      [" ", "+", "-"][Int(numbers.next() % 3)] + FolderBuilder.identifier($0).description + "\n"
    }
    let whole = Array(("INDEX\n" + lines.joined()).utf8)
    for _ in 0..<400 {
      let broken = mutate(whole, &numbers)
      guard let manifest = try? IndexManifest(parsing: broken) else { continue }
      #expect(manifest.pages.count + manifest.dropped.count == (broken.count - 6) / 42)
      #expect((broken.count - 6) % 42 == 0)
    }
  }

  @Test("entries", arguments: seeds)
  func entries(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    let samples = [
      FolderBuilder.Entry.record("12", "{\"a\":1}").bytes,
      FolderBuilder.Entry.direct("\"x\"", "{\n \"a\" : 1\n}", "{}").bytes,
      FolderBuilder.Entry.reference("null", "7").bytes,
    ]
    for _ in 0..<500 {
      let broken = mutate(samples[Int(numbers.next() % 3)], &numbers)
      for layout in [Entry.Layout.primary, .direct, .reference] {
        guard let entry = try? Entry(parsing: broken, as: layout) else { continue }
        #expect(entry.headers.count == layout.headerCount)
        #expect(entry.content.endIndex == broken.count)
        _ = try? ValueType(named: "Int").key(parsing: entry.value)
        _ = try? ValueType(named: "Pair").key(parsing: entry.identifier)
      }
    }
  }

  @Test("JSON files", arguments: seeds)
  func jsonFiles(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let builder = try FolderBuilder()
    builder.commit([
      .init(
        key: "things", records: [.record("1", "{}")],
        indexes: [.init(name: "n", type: "OneToManyIndex(Int)", entries: [.reference("1", "1")])])
    ])
    for file in builder.files(".json") {
      let whole = try FolderFiles(path: builder.path).bytes(of: file)
      for _ in 0..<120 {
        let broken = mutate(whole, &numbers)
        _ = try? InfoFile(parsing: broken)
        _ = try? SnapshotManifest(parsing: broken)
        _ = try? IterationFile(parsing: broken)
        _ = try? RootFile(parsing: broken)
      }
    }
  }

  @Test("whole folders are read to the end, damaged anywhere", arguments: seeds)
  func folders(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let builder = try FolderBuilder()
    builder.pageSize = 256
    for round in 0..<3 {
      builder.commit([
        .init(
          key: "things",
          records: (0..<30).map {
            .record("\($0)", "{\"n\":\($0 * round),\"t\":\"\(String(repeating: "y", count: $0 * 11 % 300))\"}")
          },
          indexes: [
            .init(name: "n", type: "OneToManyIndex(Int)", entries: (0..<30).map { .reference("\($0)", "\($0)") })
          ])
      ])
    }
    var files = builder.files("")
    for _ in 0..<6 {
      let file = files.remove(at: Int(numbers.next() % UInt64(files.count)))
      builder.write(file, mutate(try FolderFiles(path: builder.path).bytes(of: file), &numbers))
      exhaust(builder.path)
    }
  }

  /// Reads all that can be read.
  private func exhaust(_ path: String) {
    guard let store = try? FolderStore(at: path),
      let commits = try? store.commits(from: store.head.commit, limit: 50, folded: false)
    else { return }
    for commit in commits {
      let changes = try? store.changes(of: commit.number)
      for _ in 0..<20 { _ = try? changes?.next(100) }
      for datastore in (try? store.view(at: commit.number).datastores) ?? [] {
        for index in [datastore.primary] + datastore.indexes {
          for rank in 0..<40 { _ = try? index.entries(at: rank..<(rank + 1)) }
          _ = try? index.rank(of: .after(.integer(7)))
        }
        for number in 0..<30 {
          guard let key = try? datastore.identifier(parsing: "\(number)") else { continue }
          _ = try? datastore.record(key)
        }
      }
    }
  }

  private func mutate(_ bytes: [UInt8], _ numbers: inout SeededNumbers) -> [UInt8] {
    var bytes = bytes
    for _ in 0...(numbers.next() % 4) {
      guard !bytes.isEmpty else { return bytes }
      let place = Int(numbers.next() % UInt64(bytes.count))
      switch numbers.next() % 6 {
      case 0: bytes[place] ^= 1 << UInt8(numbers.next() % 8)
      case 1: bytes[place] = UInt8(truncatingIfNeeded: numbers.next())
      case 2: bytes.removeSubrange(place..<min(bytes.count, place + Int(numbers.next() % 9)))
      case 3:
        bytes.insert(contentsOf: Array("=<>~0123456789\n \"{}".utf8).shuffled(using: &numbers).prefix(3), at: place)
      case 4: bytes.removeLast(bytes.count - place)
      default: bytes[place] = Array("0123456789=<>~\n-+ ".utf8)[Int(numbers.next() % 18)]
      }
    }
    return bytes
  }
}
