import { gzipSync } from 'node:zlib'

/** bytes; what the return path takes is a little more */
const size = 2_000_000
const filledWith = (piece: string, bytes = size): string => piece.repeat(Math.floor(bytes / piece.length))
const inBase64 = (bytes: Buffer): string => bytes.toString('base64').replace(/.{76}/g, '$&\r\n')

const head =
  'From: MAILER-DAEMON@mx.example\r\nTo: b@relay.example\r\nSubject: Undelivered Mail Returned to Sender\r\nMIME-Version: 1.0\r\n'
const withBody = (body: string): string => `${head}\r\n${body}`
const ofType = (type: string, body: string): string => `${head}Content-Type: ${type}\r\n\r\n${body}`
const mixed = (body: string): string => ofType('multipart/mixed; boundary=x', body)
const status = (fields: string): string =>
  ofType(
    'multipart/report; report-type=delivery-status; boundary=x',
    `--x\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\n${fields}--x--\r\n`,
  )
const encoded = (type: string, encoding: string, body: string): string => ofType(`${type}\r\nContent-Transfer-Encoding: ${encoding}`, body)

function nested(depth: number): string {
  const levels = Array.from({ length: depth }, (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`)
  return `${head}${levels.join('')}Content-Type: text/plain\r\n\r\nx\r\n`
}

const rows =
  '<record><row><source_ip>192.0.2.1</source_ip><count>1</count></row><identifiers><header_from>a.example</header_from></identifiers></record>'
const dmarc = `<feedback><report_metadata><report_id>1</report_id><date_range><begin>1</begin><end>2</end></date_range></report_metadata><policy_published><domain>sender.example</domain></policy_published>${rows.repeat(40_000)}</feedback>`

/** Mail that is made to keep its reader busy, or to take its memory; by what it is. */
export const hostileMails = (): Record<string, string> => ({
  'multiparts in multiparts, 10 000 deep': nested(10_000),
  'messages in messages, 500 deep': `${head}${'Content-Type: message/rfc822\r\n\r\n'.repeat(500)}Content-Type: text/plain\r\n\r\nx`,
  'messages in messages, 2 MB of them': head + filledWith('Content-Type: message/rfc822\r\n\r\n'),
  '200 000 parts': mixed('--x\r\n\r\na\r\n'.repeat(180_000)),
  '40 000 fields': `${head}${filledWith('A: b\r\n', 240_000)}\r\nx`,
  'a header of 240 kB in folded lines': `${head}X: ${filledWith(`${'a'.repeat(900)}\r\n `, 240_000)}\r\n\r\nx`,
  'a header of 2 MB in a part': mixed(`--x\r\nX: ${filledWith('aaaaaaaaa\r\n ')}\r\n\r\nx`),
  '16 000 addresses': `${head}Cc: ${'a@b.example,\r\n '.repeat(16_000)}z@b.example\r\n\r\nx`,
  '200 000 colons for an address': `${head}Cc: x${':'.repeat(200_000)}\r\n\r\nx`,
  '12 000 encoded words': `${head}X: ${'=?utf-8?B?w6k=?=\r\n '.repeat(12_000)}x\r\n\r\nx`,
  '9 000 continued parameters': `${head}Content-Type: text/plain${Array.from({ length: 9000 }, (_, place) => `;\r\n charset*${place}*=utf-8''%41`).join('')}\r\n\r\nx`,
  '400 000 <div>': ofType('text/html', filledWith('<div><div><div><div>\r\n')),
  '2 000 000 <': ofType('text/html', filledWith(`${'<'.repeat(900)}\r\n`)),
  'comments that do not end': ofType('text/html', filledWith('<!--<!--<a href="\r\n')),
  'quoted-printable that is none': encoded('text/plain', 'quoted-printable', filledWith('====3D=\r\n')),
  'base64 that is none': encoded('text/plain', 'base64', filledWith('!!!!====AAAA\r\n')),
  uuencode: withBody(`begin 644 x\r\n${filledWith(`M${'!'.repeat(60)}\r\n`)}`),
  'escapes of iso-2022-jp': ofType('text/plain; charset=iso-2022-jp', filledWith('\x1b$B\x1b(B\x1b$B\r\n')),
  '25 000 recipients': status(filledWith('Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n')),
  '50 000 diagnostics': status(`Final-Recipient: rfc822; a@b.example\r\n${filledWith('Diagnostic-Code: smtp; 550 user unknown\r\n')}`),
  'a diagnostic of 2 MB': status(
    `Final-Recipient: rfc822; a@b.example\r\nDiagnostic-Code: smtp; ${filledWith('550 user not unknown mailbox \r\n ')}\r\n`,
  ),
  'text of addresses': withBody(filledWith('<ann@example.com>: user unknown 550 5.1.1\r\n')),
  'text of at signs': withBody(filledWith('a@a@a@a@a.a.a.a.a.@\r\n')),
  'text of spaces': withBody(`undeliverable${filledWith(`${' '.repeat(900)}\t\r\n`)}`),
  'dashes and spaces': withBody(filledWith(`--a${' '.repeat(900)}b\r\n`)),
  'complaint about 50 000': ofType(
    'multipart/report; report-type=feedback-report; boundary=x',
    `--x\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n${filledWith('Original-Rcpt-To: <a@b.example>\r\n')}`,
  ),
  'JSON, 2 000 000 deep': withBody(filledWith(`${'['.repeat(900)}\r\n`)),
  'JSON of a notification': withBody(
    `{"notificationType":"Bounce","bounce":{"bouncedRecipients":[${filledWith('{"emailAddress":"a@b.example"},\r\n')}{}]}}`,
  ),
  'XML, 600 000 deep': ofType('application/xml', `<feedback>${filledWith('<a>\r\n')}`),
  'XML that defines entities': ofType(
    'application/xml',
    `<!DOCTYPE a [<!ENTITY b "${'c'.repeat(900)}">]>\r\n<feedback>${filledWith('&b;\r\n')}`,
  ),
  'gzip of 200 MB': encoded('application/gzip', 'base64', inBase64(gzipSync(Buffer.alloc(200_000_000, '<a/>')))),
  'gzip of 40 000 rows': encoded('application/gzip', 'base64', inBase64(gzipSync(dmarc))),
  'cut in the middle of a field': ofType('multipart/report; boundary=x', '--x\r\nContent-Type: message/delivery-sta'),
})
