import { describe, expect, test } from 'vitest'
import { serverRecords, zoneRecords } from '../../../src/senders/sending-domain/server-records.ts'
import { zoneFile, type ZoneRecord } from '../../../src/senders/sending-domain/zone-file.ts'

const rows: [record: ZoneRecord, data: string][] = [
  [{ name: 'a.example', type: 'MX', value: 'mail.example.com', priority: 20 }, 'MX\t20 mail.example.com.'],
  [{ name: 'a.example', type: 'CNAME', value: 'mail.example.com' }, 'CNAME\tmail.example.com.'],
  [{ name: 'a.example', type: 'AAAA', value: '2001:db8::1' }, 'AAAA\t2001:db8::1'],
  [{ name: 'a.example', type: 'TXT', value: '' }, 'TXT\t""'],
  [{ name: 'a.example', type: 'TXT', value: 'v=DMARC1; p=none' }, 'TXT\t"v=DMARC1; p=none"'],
  [{ name: 'a.example', type: 'TXT', value: 'a "b" \\ c' }, 'TXT\t"a \\"b\\" \\\\ c"'],
  [{ name: 'a.example', type: 'TXT', value: 'ä\n' }, 'TXT\t"\\195\\164\\010"'],
  [{ name: 'a.example', type: 'TXT', value: 'x'.repeat(255) }, `TXT\t"${'x'.repeat(255)}"`],
  [{ name: 'a.example', type: 'TXT', value: 'x'.repeat(511) }, `TXT\t"${'x'.repeat(255)}" "${'x'.repeat(255)}" "x"`],
]
test.each(rows)('%j', (record, data) => {
  expect(zoneFile([record])).toBe(`a.example.\t3600\tIN\t${data}\n`)
})

describe('the records of the server', () => {
  const names = { hostname: 'mail.example.com', returnPathDomain: 'bounce.example.com', takesReports: true }
  const ofServer = serverRecords(names, ['192.0.2.1', '2001:db8::1'])

  test('are its addresses, the MX of the return path, and the names of the addresses', () => {
    expect(ofServer.map(({ type, name, value }) => `${type} ${name.replace(/^(?:0\.){20,}/, '')} ${value}`)).toEqual([
      'A mail.example.com 192.0.2.1',
      'AAAA mail.example.com 2001:db8::1',
      'MX bounce.example.com mail.example.com',
      'PTR 1.2.0.192.in-addr.arpa mail.example.com',
      expect.stringMatching(/^PTR 1\.0\..*\.8\.b\.d\.0\.1\.0\.0\.2\.ip6\.arpa mail\.example\.com$/),
    ])
    expect(serverRecords({ ...names, takesReports: false }, [])).toEqual([])
    expect(serverRecords({ ...names, hostname: 'localhost' }, ['192.0.2.1'])).toEqual([])
  })

  test('are in a zone that their names belong to, once', () => {
    const own = { name: 'bounce.example.com', type: 'MX', value: 'mail.example.com', priority: 10 }
    const typesIn = (name: string) => zoneRecords({ name, records: [own] }, ofServer).map(({ type }) => type)
    expect(typesIn('example.com')).toEqual(['MX', 'A', 'AAAA'])
    expect(typesIn('le.com')).toEqual(['MX'])
  })
})
