/// SHA-256 (FIPS 180-4), for comparing with the hashes in expected files.
struct SHA256 {
  private var state: [UInt32] = [
    0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
  ]
  private var pending: [UInt8] = []
  private var length: UInt64 = 0

  private static let constants: [UInt32] = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
    0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
    0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
    0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
    0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
    0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
    0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
    0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
  ]

  mutating func update(_ bytes: [UInt8]) {
    length += UInt64(bytes.count)
    pending += bytes
    let whole = pending.count / 64 * 64
    for start in stride(from: 0, to: whole, by: 64) { compress(pending[start..<start + 64]) }
    pending.removeFirst(whole)
  }

  var hexDigest: String {
    var copy = self
    let bits = length * 8
    copy.update([0x80] + [UInt8](repeating: 0, count: (119 - pending.count) % 64))
    copy.update((0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(56 - 8 * $0)) })
    return copy.state.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }

  private mutating func compress(_ block: ArraySlice<UInt8>) {
    func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
    let bytes = Array(block)
    var words = (0..<16).map { index in (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[index * 4 + $1]) } }
    for index in 16..<64 {
      let low = rotate(words[index - 15], 7) ^ rotate(words[index - 15], 18) ^ words[index - 15] >> 3
      let high = rotate(words[index - 2], 17) ^ rotate(words[index - 2], 19) ^ words[index - 2] >> 10
      words.append(words[index - 16] &+ low &+ words[index - 7] &+ high)
    }
    var work = state
    for index in 0..<64 {
      let high = rotate(work[4], 6) ^ rotate(work[4], 11) ^ rotate(work[4], 25)
      let choice = (work[4] & work[5]) ^ (~work[4] & work[6])
      let first = work[7] &+ high &+ choice &+ Self.constants[index] &+ words[index]
      let low = rotate(work[0], 2) ^ rotate(work[0], 13) ^ rotate(work[0], 22)
      let majority = (work[0] & work[1]) ^ (work[0] & work[2]) ^ (work[1] & work[2])
      work = [first &+ low &+ majority, work[0], work[1], work[2], work[3] &+ first, work[4], work[5], work[6]]
    }
    for index in 0..<8 { state[index] = state[index] &+ work[index] }
  }
}
