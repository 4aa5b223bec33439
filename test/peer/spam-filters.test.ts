import { createTransport, type SendMailOptions } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { startFakeMx, type FakeMx, type MxMessage } from '../support/fake-mx.ts'
import { startRspamd, type Points } from '../support/rspamd.ts'
import { spamAssassin } from '../support/spamassassin.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/** Ordinary mail as it is delivered, before the filters that most receivers have: whatever we add to it must not count against it. */
const serverAddress = '93.184.215.14'
const directory = temporaryDirectory()
let mx: FakeMx
let relay: TestRelay
let rspamd: Awaited<ReturnType<typeof startRspamd>>
let found: { bySpamAssassin: Points; byRspamd: Points }[]

/** Rules that hit and that we leave. */
const known: Points = {
  // The return path is an opaque token, in which rspamd does not see the recipient's address.
  FORGED_SENDER: 0.3,
  // Mail by HTTP has come by no mail server before us.
  ONCE_RECEIVED: 0.1,
}

beforeAll(async () => {
  mx = await startFakeMx({ host: '127.0.3.41', port: await freePort() })
  relay = await startTestRelay(
    { delivery_port: String(mx.port), base_url: 'https://relay.example' },
    {
      'rcpt.example': { mx: [[10, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: ['127.0.3.41'] },
      'relay.example': { a: [serverAddress], mx: [[10, 'relay.example']], txt: ['v=spf1 a -all'] },
      'sender.example': { a: [serverAddress], mx: [[10, 'relay.example']] },
    },
    { clock: systemClock },
  )
  const { body } = await relay.call('GET', '/api/domains?limit=1')
  const { body: domain } = await relay.call('GET', `/api/domains/${body.data[0].id}`)
  for (const { name, type, value, priority } of domain.records) {
    const entry = (relay.dns.zone[name] ??= {}) as { txt?: string[]; mx?: [number, string][] }
    if (type === 'TXT') entry.txt = [...(entry.txt ?? []), value]
    if (type === 'MX') entry.mx = [[priority ?? 10, value]]
  }
  await relay.call('POST', `/api/domains/${domain.id}/verify`)
  rspamd = await startRspamd(relay.dns.server)
  for (const [name, send] of mails) await send(recipientOf(name))
  const messages = await mx.waitForMessages(mails.length)
  const inOrder = mails.map(([name]) => messages.find(({ rcptTo }) => rcptTo.includes(recipientOf(name))) as MxMessage)
  const bySpamAssassin = await spamAssassin(inOrder.map(received), directory.path)
  const envelopeOf = ({ mailFrom, rcptTo }: MxMessage) => ({
    ip: serverAddress,
    helo: 'relay.example',
    from: mailFrom,
    to: rcptTo[0] ?? '',
  })
  const byRspamd = await Promise.all(inOrder.map((message) => rspamd.check(received(message), envelopeOf(message))))
  found = mails.map((_, place) => ({ bySpamAssassin: bySpamAssassin[place] ?? {}, byRspamd: byRspamd[place] ?? {} }))
}, 60_000)

afterAll(async () => {
  await rspamd.stop()
  await relay.stop()
  await mx.close()
  directory.remove()
})

const subject = 'Your order 1042 is on its way'
const text = `Hello Ann,

thank you for your order. We have handed it to the post office today, and it should be with you on Thursday.
You can see where it is at https://shop.sender.example/orders/1042 at any time.

Many greetings from all of us
The shop at the corner, 1 Market Street, Springfield`
const html = `<html><body><p>Hello Ann,</p><p>thank you for your order. We have handed it to the post office today, and it should be with you on Thursday.
You can <a href="https://shop.sender.example/orders/1042">see where it is</a> at any time.</p>
<p>Many greetings from all of us<br>The shop at the corner, 1 Market Street, Springfield</p></body></html>`
const german = `Hallo Änne,

vielen Dank für Ihre Bestellung. Wir haben sie heute zur Post gebracht, und sie müsste am Donnerstag bei Ihnen sein.
Unter https://shop.sender.example/orders/1042 können Sie jederzeit sehen, wo sie gerade ist.

Viele Grüße von uns allen
Der Laden an der Ecke, Marktstraße 1, Köln`
const pdf = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
)
const recipientOf = (name: string): string => `${name.toLowerCase().replaceAll(/\W+/g, '-')}@rcpt.example`

const byApi =
  (fields: object) =>
  async (to: string): Promise<void> =>
    void (await relay.send(`Ann Bee <${to}>`, { from: 'The shop <app@sender.example>', subject, html: undefined, ...fields }))
const bySmtp =
  (fields: SendMailOptions) =>
  async (to: string): Promise<void> => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: relay.submissionPort,
      auth: { user: 'any', pass: relay.token },
      tls: { rejectUnauthorized: false },
    })
    await transport.sendMail({ from: 'The shop <app@sender.example>', to: `Ann Bee <${to}>`, subject, ...fields })
  }

const mails: [name: string, send: (to: string) => Promise<void>][] = [
  ['API, text', byApi({ text })],
  ['API, HTML and text', byApi({ text, html })],
  ['API, HTML alone', byApi({ html })],
  ['API, with an attachment', byApi({ text, attachments: [{ filename: 'Invoice 1042.pdf', content: pdf.toString('base64') }] })],
  ['API, with links to unsubscribe', byApi({ text, html, unsubscribe: true })],
  ['API, beyond ASCII', byApi({ text: german, subject: 'Ihre Bestellung 1042 ist unterwegs, Änne' })],
  ['SMTP, text', bySmtp({ text })],
  ['SMTP, HTML and text', bySmtp({ text, html })],
  ['SMTP, with an attachment', bySmtp({ text, attachments: [{ filename: 'Invoice 1042.pdf', content: pdf }] })],
  ['SMTP, beyond ASCII', bySmtp({ text: german, subject: 'Ihre Bestellung 1042 ist unterwegs, Änne' })],
  ['SMTP, with links to unsubscribe', bySmtp({ text, html, headers: { 'X-Unsubscribe': 'true' } })],
]

/** As a receiver stores it, with its own trace fields on top. */
const received = ({ data, mailFrom, rcptTo }: MxMessage): Buffer =>
  Buffer.concat([
    Buffer.from(
      `Return-Path: <${mailFrom}>\r\nReceived: from relay.example (relay.example [${serverAddress}])\r\n` +
        ` by mx.rcpt.example with ESMTPS id 4D0B31F5E9\r\n for <${rcptTo[0]}>; ${new Date().toUTCString().replace('GMT', '+0000')}\r\n`,
    ),
    data,
  ])

/** Informational rules have no points, or a thousandth of one. */
const against = (points: Points): Points =>
  Object.fromEntries(Object.entries(points).filter(([name, score]) => score > 0.01 && known[name] !== score))

test.each(mails.map(([name], place) => [name, place] as const))('%s: nothing against it', (_, place) => {
  const { bySpamAssassin = {}, byRspamd = {} } = found[place] ?? {}
  expect(Object.keys(byRspamd)).toEqual(expect.arrayContaining(['R_DKIM_ALLOW', 'R_SPF_ALLOW', 'DMARC_POLICY_ALLOW']))
  expect({ bySpamAssassin: against(bySpamAssassin), byRspamd: against(byRspamd) }).toEqual({ bySpamAssassin: {}, byRspamd: {} })
})
