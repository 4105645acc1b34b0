import Foundation
import Testing

/// What keeps the sources compiling on Apple's platforms, where nothing here can be run; and what is said of each call.
@Suite("Sources are fit for every platform")
struct PlatformTests {
  /// The modules that an app links.
  private static let library = [
    "StrataLocks", "StrataSystem", "StrataFoundation", "CStrataHash", "CStrataBlock", "StrataEngine", "StrataDocuments",
    "StrataExpressions", "StrataModel", "StrataFolders", "CodableDatastore", "StrataExchange", "StoreEntities",
  ]

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private struct Source {
    var name: String
    var lines: [String]
  }

  private func sources(in folder: String = "Sources") throws -> [Source] {
    let base = Self.root.appending(path: folder)
    let enumerator = try #require(
      FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil, options: .skipsHiddenFiles))
    return try enumerator.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.map { file in
      Source(
        name: file.pathComponents.suffix(3).joined(separator: "/"),
        lines: try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
          .map { $0.trimmingCharacters(in: .whitespaces) })
    }
  }

  @Test("FoundationEssentials is imported where it is, and Foundation where it is not")
  func foundation() throws {
    let sources = try sources()
    #expect(sources.count > 200)
    var imports = 0
    for source in sources {
      for (place, line) in source.lines.enumerated() where line.hasSuffix("import FoundationEssentials") {
        imports += 1
        let modifier = line.dropLast("import FoundationEssentials".count)
        let around = source.lines[max(place - 1, 0)..<min(place + 4, source.lines.count)]
        #expect(
          Array(around) == [
            "#if canImport(FoundationEssentials)", line, "#else", "\(modifier)import Foundation", "#endif",
          ], "\(source.name):\(place + 1)")
      }
    }
    #expect(imports > 0)
  }

  @Test("the library imports Foundation in one place", arguments: library)
  func oneFoundation(_ module: String) throws {
    for source in try sources(in: "Sources/\(module)") where module != "StrataFoundation" {
      for (place, line) in source.lines.enumerated() {
        #expect(line.firstMatch(of: /\bimport Foundation(Essentials)?$/) == nil, "\(source.name):\(place + 1)")
      }
    }
  }

  @Test("what lives elsewhere on Apple's platforms is named in one place")
  func propertyListFormats() throws {
    for source in try sources()
    where source.lines.contains(where: { $0.contains("PropertyListDecoder.PropertyListFormat") }) {
      #expect(source.name.hasSuffix("Datastores/Migration.swift"))
    }
  }

  @Test("every source file that the README names is there")
  func readme() throws {
    let text = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    let paths = text.split(separator: "`").filter { $0.hasPrefix("Sources/") || $0.hasPrefix("Tests/") }
    #expect(paths.count > 4)
    for path in paths where !path.contains(where: \.isWhitespace) {
      #expect(FileManager.default.fileExists(atPath: Self.root.appending(path: String(path)).path), "\(path)")
    }
  }

  @Test("every lock is one that the thread sanitizer sees", arguments: ["Sources", "Tests"])
  func locks(_ folder: String) throws {
    for source in try sources(in: folder)
    where source.lines.contains(where: {
      $0.hasPrefix("import Synchronization") || $0.hasSuffix(" import Synchronization")
    }) {
      #expect(source.name.hasSuffix("Locks/Mutex.swift"), "\(source.name) imports Synchronization instead of Locks")
    }
  }

  @Test("a system's C library is imported under a condition", arguments: library)
  func systemLibraries(_ module: String) throws {
    let folder = "Sources/\(module)"
    guard FileManager.default.fileExists(atPath: Self.root.appending(path: folder).path) else { return }
    for source in try sources(in: folder) {
      for (place, line) in source.lines.enumerated() where line.hasSuffix("import Glibc") {
        let before = source.lines[..<place].last { $0.hasPrefix("#") }
        #expect(
          before.map { ["#else", "#if !canImport(Darwin)", "#if canImport(Glibc)"].contains($0) } == true,
          "\(source.name):\(place + 1)")
      }
    }
  }

  @Test("the package asks for no newer system than the design says")
  func platforms() throws {
    let manifest = try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8)
    #expect(
      manifest.contains("[.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)]")
    )
    // That would ask what machine builds, not for which one.
    #expect(!manifest.contains("#if os("))
    #expect(manifest.hasPrefix("// swift-tools-version: 6.2\n"))
    // Types that came with the systems after those.
    for module in Self.library {
      let folder = "Sources/\(module)"
      guard FileManager.default.fileExists(atPath: Self.root.appending(path: folder).path) else { continue }
      for source in try sources(in: folder) {
        for newer in ["InlineArray<", "UTF8Span", ".utf8Span", "Observations {"] {
          #expect(!source.lines.contains { $0.contains(newer) && !$0.hasPrefix("//") }, "\(source.name): \(newer)")
        }
      }
    }
  }

  /// `check-apple` sees an `Int` of 64 bits everywhere, and older watches have one of 32. A literal that does not fit is an error there;
  /// a shift that does not is a zero.
  @Test("no shift needs an Int of more than 32 bits", arguments: library)
  func narrowIntegers(_ module: String) throws {
    let wide = [
      // Of a system with 64 bits only.
      "MappingSizes(first: [1 << 36, 1 << 28], most: .max)", "let device = (major & ~0xFFF) << 32",
      // Of `UInt64`.
      "guard !overflow, first < 1 << 60", "digits < 1 << 53", "bits & 1 << 63 != 0",
    ]
    for source in try sources(in: "Sources/\(module)") {
      for (place, line) in source.lines.enumerated() where !line.hasPrefix("//") {
        guard line.firstRange(of: /<< (3[2-9]|[4-9][0-9])\b/) != nil else { continue }
        let isWide =
          ["UInt64", "Int64", "Int128", ".bytes"].contains { line.contains($0) } || wide.contains { line.contains($0) }
        #expect(isWide, "\(source.name):\(place + 1): \(line)")
      }
    }
  }

  /// The blocking calls are mirrors, and their types say once what they throw; what `Codable` asks for is said there.
  @Test("each public call says what it throws", arguments: ["CodableDatastore", "StoreEntities"])
  func throwing(_ module: String) throws {
    var found = 0
    for source in try sources(in: "Sources/\(module)") where !source.name.contains("/Blocking/") {
      for (place, line) in source.lines.enumerated() where Self.isPublicCall(line) {
        let declaration = Self.outsideParentheses(source.lines[place...].prefix(25).joined(separator: " "))
        guard declaration.contains(" throws"), !line.contains("from decoder:"), !line.contains("to encoder:") else {
          continue
        }
        found += 1
        let comment = source.lines[..<place].reversed().prefix { $0.hasPrefix("///") || $0.hasPrefix("@") }
        #expect(comment.contains { $0.localizedCaseInsensitiveContains("throws") }, "\(source.name):\(place + 1)")
      }
    }
    #expect(found > 10)
  }

  private static func isPublicCall(_ line: String) -> Bool {
    let words = line.split(separator: " ").map { $0.prefix { $0.isLetter } }
    guard words.first == "public", !words.contains("var") || line.contains("{") else { return false }
    return words.prefix(4).contains { ["func", "init", "var", "subscript"].contains($0) }
  }

  /// A declaration up to its body, or to that of its getter, without what stands in parentheses.
  private static func outsideParentheses(_ text: String) -> String {
    var (outside, depth, braces) = ("", 0, 0)
    for character in text {
      switch character {
      case "(": depth += 1
      case ")": depth -= 1
      case "{" where depth == 0:
        // The getter of a property says after its name whether it throws.
        guard braces == 0, outside.contains(" var ") || outside.hasPrefix("public var ") else { return outside }
        braces += 1
      case "}" where depth == 0: return outside
      default: if depth == 0 { outside.append(character) }
      }
    }
    return outside
  }
}
