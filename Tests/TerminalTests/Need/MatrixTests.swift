import Testing

@Suite("Matrix")
struct MatrixTests {
  @Test("every row of the needs has a terminal test of its name", arguments: NeedRows.all)
  func rows(row: String) {
    #expect(Self.testNames.contains(row))
  }

  @Test("no test of the needs is left without a row")
  func strays() {
    #expect(Self.testNames.filter { !NeedRows.all.contains($0) } == [])
  }

  /// The names of the tests in this folder: what stands in `@Test("…"`, save for this file's own.
  private static let testNames: [String] = {
    let folder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    return Scratch.files(in: folder).filter { $0.hasSuffix(".swift") && !$0.hasSuffix("MatrixTests.swift") }
      .flatMap { path in
        Scratch.text(of: path).split(separator: "\n").compactMap { line -> String? in
          guard let start = line.firstRange(of: "@Test(\"") else { return nil }
          return String(line[start.upperBound...].prefix { $0 != "\"" })
        }
      }
  }()
}
