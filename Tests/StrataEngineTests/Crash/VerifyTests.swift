import DiskSimulation
import StrataEngine
import Testing

@Suite("Verify")
struct VerifyTests {
  @Test("a store that nothing happened to is found clean, whatever was done to it before", arguments: 1...4)
  func cleanStores(_ seed: Int) throws {
    let workload = try RecordedWorkload.run("clean", .random(seed: UInt64(seed), count: 80), seed: UInt64(seed))
    let report = try FileStore.verify(at: RecordedWorkload.path, disk: ImageDisk(workload.finish))
    #expect(report.findings.isEmpty, "\(report.findings.prefix(3))")
    #expect(report.commits == workload.model.newest)
    #expect(report.nodes > 0 && report.changes > 0)
  }

  @Test("a store that is being written is verified up to what is durable")
  func besideWriter() throws {
    let disk = SimulatedDisk()
    try disk.makeDirectory("/library")
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk)
    try runner.run(.random(seed: 8, count: 20, reopens: false))
    let transaction = try runner.store.beginBlocking()
    let report = try FileStore.verify(at: RecordedWorkload.path, disk: disk)
    #expect(report.findings.isEmpty, "\(report.findings.prefix(3))")
    transaction.cancel()
  }

  @Test("what a writer commits, and notes in a slot, while its store is verified, is not damage")
  func besideBusyWriter() throws {
    let disk = SimulatedDisk()
    try disk.makeDirectory("/library")
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk)
    try runner.run(.random(seed: 8, count: 20, reopens: false))
    let store = runner.store
    let transaction = try store.beginBlocking()
    var isWriting = true
    let report = try FileStore.verify(at: RecordedWorkload.path, disk: disk) { _ in
      if isWriting {
        transaction.cancel()
        _ = try? store.change { try $0.createTree(TreeName([1, 2, 3]), kind: .records) }
        store.releaseLock()
      }
      isWriting = false
      return true
    }
    #expect(!isWriting)
    #expect(report.findings.isEmpty, "\(report.findings.prefix(3))")
  }

  @Test("every flipped bit is noticed, and where it lies in a commit it counts as damage")
  func everyFlippedBit() async throws {
    let store = try DamagedStore.make()
    let offsets = Array(stride(from: 0, to: 16_384, by: 97)) + Array(stride(from: 16_384, to: store.end + 64, by: 3))
    let failures = await store.problems(flippingBitsAt: offsets) { problem(in: $0, flipped: $1, of: store) }
    #expect(failures.isEmpty, "\(failures.count) of \(offsets.count), the first: \(failures.prefix(5))")
  }

  private func problem(in image: DiskImage, flipped offset: Int, of store: DamagedStore) -> String? {
    do {
      let report = try FileStore.verify(at: DamagedStore.path, disk: ImageDisk(image))
      if report.findings.isEmpty { return "byte \(offset) was not noticed" }
      if offset >= 16_384, offset < store.end, report.isClean {
        return "byte \(offset) is not damage: \(report.findings)"
      }
      return nil
    } catch {
      // The magic and the version say whether it is a store at all.
      return offset < 12 ? nil : "byte \(offset): \(error)"
    }
  }

  @Test("a finding says what, where, in which commit, and what can be saved")
  func findings() throws {
    let store = try DamagedStore.make()
    let frames = FrameMap(store.bytes).frames
    let frame = frames[2]
    for part in FrameMap.Part.allCases {
      let offset = frame[part].lowerBound + frame[part].count / 2
      let report = try FileStore.verify(at: DamagedStore.path, disk: ImageDisk(store.flipping(offset, 1)))
      let finding = try #require(report.findings.first { $0.severity == .damage })
      #expect(finding.commit == 3, "\(part): \(finding)")
      #expect(frame.header.lowerBound...frame.trailer.upperBound ~= Int(finding.offset), "\(part): \(finding)")
      #expect(!finding.saved.isEmpty, "\(part): \(finding)")
    }
  }

  @Test("verification can be ended, and tells how far it is")
  func progress() throws {
    let store = try DamagedStore.make()
    var told: [VerifyProgress] = []
    let report = try FileStore.verify(at: DamagedStore.path, disk: ImageDisk(store.image)) { progress in
      told.append(progress)
      return true
    }
    // Bytes first, then commits, of which there are few.
    #expect(told.contains { $0.total > 1_000 } && told.last.map { $0.total < 1_000 && $0.done == $0.total } == true)
    let ended = try FileStore.verify(at: DamagedStore.path, disk: ImageDisk(store.image)) { _ in false }
    #expect(ended.nodes == 0 && report.nodes > 0)
  }
}
