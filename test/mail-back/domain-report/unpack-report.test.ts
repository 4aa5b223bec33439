import { deflateRawSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readXml } from '../../../src/mail-back/domain-report/read-xml.ts'
import { unpackReport } from '../../../src/mail-back/domain-report/unpack-report.ts'
import { zipOf } from '../../support/compose-domain-report.ts'
import { cases } from '../../support/cases.ts'

const xml = '<?xml version="1.0"?><feedback>Grüße</feedback>'

test.each<[string, Uint8Array]>([
  ['as it is', Buffer.from(xml)],
  ['behind a byte order mark and an empty line', Buffer.from(`\ufeff\n${xml}`)],
  ['in gzip', gzipSync(xml)],
  ['in a zip archive', zipOf({ 'receiver.example!sender.example!1!2.xml': xml })],
  ['in UTF-16', Buffer.from(`\ufeff${xml}`, 'utf16le')],
])('a report %s', async (_, bytes) => {
  const { language, text } = await unpackReport(Buffer.from(bytes))
  expect(language).toBe('xml')
  expect(text.trim()).toBe(xml)
})

test('a declared charset, and one that does not exist', async () => {
  const latin = '<?xml version="1.0" encoding="ISO-8859-1"?><feedback>Grüße</feedback>'
  expect((await unpackReport(Buffer.from(latin, 'latin1'))).text).toBe(latin)
  const odd = latin.replace('ISO-8859-1', 'x-none')
  expect((await unpackReport(Buffer.from(odd))).text).toBe(odd)
})

test('JSON', async () => {
  expect(await unpackReport(gzipSync('  {"a":1}'))).toEqual({ language: 'json', text: '  {"a":1}', size: 9 })
})

const megabytes = (count: number): Buffer => Buffer.alloc(count * 1024 * 1024, ' ')
/** A zip archive with one field of the entry in its directory changed. */
function changedZip(offset: number, value: number, bytes: 2 | 4): Buffer {
  const archive = zipOf({ 'a.xml': xml })
  const entry = archive.indexOf(Buffer.from('PK\x01\x02', 'latin1'))
  if (bytes === 2) archive.writeUInt16LE(value, entry + offset)
  else archive.writeUInt32LE(value, entry + offset)
  return archive
}
const bombInZip = (): Buffer => {
  const archive = zipOf({ 'a.xml': Buffer.concat([Buffer.from('<a>'), megabytes(11)]) })
  const entry = archive.indexOf(Buffer.from('PK\x01\x02', 'latin1'))
  // It claims to be small.
  archive.writeUInt32LE(1000, entry + 24)
  return archive
}

describe('refuses with a reason', () => {
  test.each<[string, Buffer, RegExp]>([
    ['no report', Buffer.from('Dear all'), /neither XML nor JSON/],
    ['nothing', Buffer.alloc(0), /neither XML nor JSON/],
    ['a large one', Buffer.concat([Buffer.from('<a>'), megabytes(11)]), /more than 10485760 bytes/],
    ['a bomb in gzip', gzipSync(Buffer.concat([Buffer.from('<a>'), megabytes(11)])), /gzip file unpacks to more than 10485760 bytes/],
    ['a small bomb', gzipSync(Buffer.concat([Buffer.from('<a>'), megabytes(5)])), /200 times its size/],
    ['a broken gzip file', gzipSync(xml).subarray(0, 30), /gzip file is broken/],
    ['gzip in gzip', gzipSync(gzipSync(xml)), /neither XML nor JSON/],
    ['gzip in zip', zipOf({ 'a.xml.gz': gzipSync(xml) }), /neither XML nor JSON/],
    ['zip in zip', zipOf({ 'a.zip': zipOf({ 'a.xml': xml }) }), /neither XML nor JSON/],
    ['a bomb in zip', bombInZip(), /broken \(too many bytes/],
    [
      'an honest bomb in zip',
      zipOf({ 'a.xml': Buffer.concat([Buffer.from('<a>'), megabytes(11)]) }),
      /unpacks to more than 10485760 bytes/,
    ],
    ['two files', zipOf({ 'a.xml': xml, 'b.xml': xml }), /has 2 entries/],
    ['thousands of files', zipOf(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`${i}.xml`, '']))), /has 5000 entries/],
    ['an encrypted file', changedZip(8, 1, 2), /encrypted/],
    ['another method', changedZip(10, 14, 2), /broken \(unsupported compression method: 14/],
    ['a size that only ZIP64 could tell', changedZip(20, 0xffffffff, 4), /broken/],
    ['a wrong checksum', changedZip(16, 1, 4), /checksum/],
    ['a place outside of the archive', changedZip(42, 0x7fffffff, 4), /broken/],
    ['a size beyond the archive', changedZip(20, 0x7fffffff, 4), /broken/],
    ['half an archive', zipOf({ 'a.xml': xml }).subarray(0, 60), /broken.*truncated/],
  ])('%s', async (_, bytes, fault) => {
    await expect(unpackReport(bytes)).rejects.toThrow(fault)
  })

  test('any change to an archive', async () => {
    const archive = zipOf({ 'a.xml': xml })
    // Its first bytes make it an archive.
    const change = fc.record({
      at: fc.integer({ min: 4, max: archive.length - 1 }),
      value: fc.nat({ max: 255 }),
      end: fc.nat({ max: archive.length }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const bytes = Buffer.from(archive)
        for (const { at, value } of changes) bytes[at] = value
        const cut = bytes.subarray(0, changes.length % 2 === 0 ? changes[0]!.end : bytes.length)
        try {
          expect((await unpackReport(cut)).text).toBe(xml)
        } catch (error) {
          // What is in the archive is right by its checksum, or it is refused.
          expect((error as Error).name).toBe('ReportFault')
        }
      }),
      { numRuns: cases(400) },
    )
  })
})

describe('hostile XML', () => {
  const laughs = `<!DOCTYPE lolz [<!ENTITY lol "lol">${Array.from({ length: 9 }, (_, i) => `<!ENTITY lol${i + 1} "${`&lol${i || ''};`.repeat(10)}">`).join('')}]><feedback>&lol9;</feedback>`
  test.each<[string, string, RegExp]>([
    ['entities of entities', `<?xml version="1.0"?>${laughs}`, /document type/],
    ['one large entity', `<!DOCTYPE a [<!ENTITY x "${'y'.repeat(50_000)}">]><a>${'&x;'.repeat(1000)}</a>`, /document type/],
    ['a document type without end', `<!DOCTYPE a [${'x'.repeat(1_000_000)}`, /not well-formed/],
    ['a declaration without end', `<!ENTITY${' TY'.repeat(300_000)}`, /declaration/],
    ['a file of ours', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', /document type/],
    ['an entity from nowhere', '<a>&x;</a>', /not well-formed/],
    ['an entity of HTML', '<a>&nbsp;</a>', /not well-formed/],
    ['deep', '<a>'.repeat(100_000), /32 levels/],
    ['wide', `<a>${'<b/>'.repeat(500_000)}</a>`, /400000 elements/],
    ['many attributes', `<a ${Array.from({ length: 100 }, (_, i) => `b${i}=""`).join(' ')}/>`, /32 attributes/],
    ['an endless name', `<${'a'.repeat(1_000_000)}/>`, /not well-formed/],
    ['an endless attribute', `<a b="${'c'.repeat(1_000_000)}"/>`, /not well-formed/],
    ['nothing', '<!-- x -->', /no root element|not well-formed/],
    ['crossed', '<a><b></a></b>', /not well-formed/],
  ])('%s', (_, text, fault) => {
    expect(() => readXml(text)).toThrow(fault)
  })

  test('property names of JavaScript objects mean nothing', () => {
    const element = readXml('<__proto__ constructor="x"><prototype>1</prototype></__proto__>')
    expect(element).toEqual({ name: '__proto__', text: '', children: [{ name: 'prototype', text: '1', children: [] }] })
    expect(({} as Record<string, unknown>)['prototype']).toBeUndefined()
  })
})

test('an archive from another program, with a comment and a stored file', async () => {
  const content = Buffer.from(xml)
  const archive = zipOf({ 'a.xml': content })
  // Stored: the deflated bytes are replaced by the content, and the places behind them move.
  const packed = deflateRawSync(content)
  const entry = archive.indexOf(Buffer.from('PK\x01\x02', 'latin1'))
  const start = archive.indexOf(packed)
  const file = Buffer.concat([archive.subarray(0, start), content])
  const directory = Buffer.from(archive.subarray(entry, -22))
  directory.writeUInt16LE(0, 10)
  directory.writeUInt32LE(content.length, 20)
  const end = Buffer.from(archive.subarray(-22))
  end.writeUInt32LE(file.length, 16)
  end.writeUInt16LE(5, 20)
  expect((await unpackReport(Buffer.concat([file, directory, end, Buffer.from('hello')]))).text).toBe(xml)
})
