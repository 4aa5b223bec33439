import { crc32, deflateRawSync } from 'node:zlib'

/** A row as a test cares for it; the rest is as it usually is. */
interface WrittenRow {
  sourceIp: string
  messages: number
  disposition?: string
  dkimAligned: boolean
  spfAligned: boolean
  /** Of the signature. */
  selector?: string
  /** Why the receiver did otherwise than the policy asks for. */
  overrides?: string[]
}

interface WrittenReport {
  reporter?: string
  reportId?: string
  domain?: string
  /** Epoch, ms. */
  beginAt?: number
  policy?: string
  rows: WrittenRow[]
}

const day = 86_400_000
const escaped = (text: string): string => text.replace(/[<>&]/g, (letter) => `&#${letter.charCodeAt(0)};`)
const passOrFail = (passed: boolean): string => (passed ? 'pass' : 'fail')

/** An aggregate report of DMARC about one day. */
export function composeDmarcReport({
  reporter = 'receiver.example',
  reportId = '1',
  domain = 'sender.example',
  beginAt = Date.UTC(2026, 10, 20),
  policy = 'none',
  rows,
}: WrittenReport): string {
  const records = rows.map(
    ({ sourceIp, messages, disposition = 'none', dkimAligned, spfAligned, selector = 's1', overrides = [] }) => `
  <record>
    <row>
      <source_ip>${sourceIp}</source_ip><count>${messages}</count>
      <policy_evaluated><disposition>${disposition}</disposition><dkim>${passOrFail(dkimAligned)}</dkim><spf>${passOrFail(spfAligned)}</spf>${overrides.map((type) => `<reason><type>${type}</type></reason>`).join('')}</policy_evaluated>
    </row>
    <identifiers><header_from>${domain}</header_from></identifiers>
    <auth_results>
      <dkim><domain>${domain}</domain><selector>${selector}</selector><result>${passOrFail(dkimAligned)}</result></dkim>
      <spf><domain>send.${domain}</domain><result>${passOrFail(spfAligned)}</result></spf>
    </auth_results>
  </record>`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<feedback>
  <report_metadata>
    <org_name>${escaped(reporter)}</org_name><email>dmarc@receiver.example</email><report_id>${escaped(reportId)}</report_id>
    <date_range><begin>${beginAt / 1000}</begin><end>${(beginAt + day) / 1000}</end></date_range>
  </report_metadata>
  <policy_published><domain>${domain}</domain><adkim>r</adkim><aspf>r</aspf><p>${policy}</p></policy_published>${records.join('')}
</feedback>
`
}

/** A zip archive of deflated files. */
export function zipOf(files: Record<string, string | Uint8Array>): Buffer {
  const entries = Object.entries(files).map(([name, content]) => ({ name: Buffer.from(name), content: Buffer.from(content) }))
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content } of entries) {
    const packed = deflateRawSync(content)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(name.length, 22)
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, tail, name]))
    parts.push(file)
    offset += file.length
  }
  const entryBytes = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(entryBytes.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, entryBytes, end])
}

/** A mail of a receiver with these attachments. */
export function reportMail(
  attachments: { type: string; content: Uint8Array }[],
  { from = 'noreply@receiver.example', to = 'dmarc-reports@relay.example' } = {},
): Buffer {
  const parts = attachments.map(
    ({ type, content }) =>
      `--b\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment\r\n\r\n` +
      `${Buffer.from(content).toString('base64').replace(/.{76}/g, '$&\r\n')}\r\n`,
  )
  const text = '--b\r\nContent-Type: text/plain\r\n\r\nThis is an aggregate report.\r\n'
  const head = `From: ${from}\r\nTo: ${to}\r\nSubject: Report domain: sender.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n`
  return Buffer.from(`${head}${text}${parts.join('')}--b--\r\n`)
}
