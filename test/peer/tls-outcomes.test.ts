import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  startReceivingExim,
  startReceivingHaraka,
  startReceivingOpensmtpd,
  startReceivingPostfix,
  type ReceivingSystem,
  type StartReceiving,
} from '../support/receiving-systems.ts'
import {
  certificateShown,
  deliveryTo,
  expectOutcome,
  jobUnder,
  leaves,
  policies,
  shownCertificates,
  shownPolicy,
  tables,
  tlsaRecords,
  type Policy,
  type Shown,
  type ShownCertificates,
} from '../support/tls-outcomes.ts'

// Mail systems as they are installed, each as the hosts of the tables of docs/standards.md that it can be.

const host = '127.0.3.58'
const names: Partial<Record<Shown, string>> = { 'a self-signed one': 'self-signed.example.com', 'an expired one': 'expired.example.com' }
const nameOf = (shown: Shown): string => names[shown] ?? 'mx.example.com'
const otherName = 'other.example.com'

let certificates: ShownCertificates
beforeAll(async () => {
  const made = await shownCertificates(nameOf)
  // Asked for a name that they do not know, they show the certificate for another.
  certificates = { ...made, 'one for another name': made['a valid certificate'] }
})

/** What a mail system shows, and at which of its ports. */
type Shows = Partial<Record<Shown, keyof ReceivingSystem['ports']>>

const all: Shows = {
  'a valid certificate': 'starttls',
  'a self-signed one': 'starttls',
  'an expired one': 'starttls',
  'one for another name': 'starttls',
  'no STARTTLS': 'plain',
}
const systems: [string, StartReceiving, Shows, offersRequireTls: boolean][] = [
  ['Postfix', startReceivingPostfix, all, false],
  ['Exim', startReceivingExim, all, false],
  ['OpenSMTPD', startReceivingOpensmtpd, { 'a handshake that fails': 'starttls', 'no STARTTLS': 'plain' }, false],
  ['Haraka', startReceivingHaraka, all, true],
]

/** How a message came, by the trace field that the mail system has added. */
function receivedAs(message: string): string {
  const [, subject] = /^Subject: (.*)$/m.exec(message) ?? []
  const [, secured] = /^Received: [^;]*\swith E?SMTP(S?)\s/im.exec(message) ?? []
  if (secured === undefined) throw new Error(`it does not say how it came: ${message}`)
  return `${subject}: ${secured ? 'over TLS' : 'plain'}`
}

const byNumber = (a: string, b: string): number => Number.parseInt(a) - Number.parseInt(b)

interface Wishes {
  tlsa?: ReturnType<typeof tlsaRecords>
  requireTls?: boolean
}

describe.each(systems)('%s', (_, start, shows, offersRequireTls) => {
  let system: ReceivingSystem
  const expected: string[] = []
  let sent = 0
  beforeAll(async () => {
    const { 'a valid certificate': valid, 'a self-signed one': selfSigned, 'an expired one': expired } = certificates
    const byName = { [nameOf('a self-signed one')]: selfSigned, [nameOf('an expired one')]: expired }
    system = await start({ host, certificates: { default: valid, ...byName } })
  })
  afterAll(() => system?.stop())

  const hostOf = (shown: Shown) => ({
    name: shown === 'one for another name' ? otherName : nameOf(shown),
    host,
    port: system.ports[shows[shown] ?? 'starttls'],
  })

  /** Sends a message, which ends as a cell says, and is among those that are expected if it leaves. */
  async function send(shown: Shown, cell: string, policy: Policy | null, { tlsa, requireTls }: Wishes = {}) {
    const subject = String(++sent)
    const delivery = deliveryTo(hostOf(shown), policy, { trusted: [certificates.authority.cert], ...(tlsa && { tlsa }) })
    const text = `Subject: ${subject}\r\n\r\nHello\r\n`
    const attempt = await delivery.attempt(jobUnder(policy, { text, ...(requireTls && { transfer: { requireTls } }) }))
    expectOutcome(attempt, cell)
    if (leaves(cell)) expected.push(`${subject}: ${cell === 'plain' ? 'plain' : 'over TLS'}`)
    return attempt
  }

  /** All that was sent, and nothing else, has come as it should. */
  const expectReceived = (): Promise<void> => expect.poll(() => system.messages().map(receivedAs).sort(byNumber)).toEqual(expected)

  const shownRows = <R extends Record<'the host shows', Shown>>(rows: R[]): R[] => rows.filter((row) => row['the host shows'] in shows)

  test.each(shownRows(tables.policies).map((row) => [row['the host shows'], row] as const))('showing %s', async (shown, row) => {
    for (const policy of policies) {
      const attempt = await send(shown, row[policy], policy)
      expect(attempt).toMatchObject({ policy: shownPolicy(policy).mode })
    }
    await expectReceived()
  })

  const daneRows = shownRows(tables.dane).map((row) => [row['TLSA records of the host'], row['the host shows'], row] as const)
  test.each(daneRows)('in a signed zone with TLSA records: %s, showing %s', async (called, shown, row) => {
    const tlsa = tlsaRecords(called, certificateShown(shown, certificates), certificates.authority)
    await send(shown, row['nothing set'], null, { tlsa })
    await send(shown, row['dane set'], 'dane', { tlsa })
    await expectReceived()
  })

  const requireRows = shownRows(tables.requireTls).filter(
    (row) => (row['it offers REQUIRETLS'] === 'yes') === (offersRequireTls && shows[row['the host shows']] === 'starttls'),
  )
  test.each(requireRows.map((row) => [row['the host shows'], row['the message'], row] as const))(
    'showing %s, for mail with REQUIRETLS: %s',
    async (shown, cell) => {
      await send(shown, cell, 'sts enforce', { requireTls: true })
      await expectReceived()
      if (leaves(cell))
        expect(system.messages().find((message) => message.includes(`Subject: ${sent}\r`))).toContain('X-Mail-Parameter: REQUIRETLS')
    },
  )

  test('has got nothing that was kept back', async () => {
    await send('no STARTTLS', 'plain', null)
    await expectReceived()
  })
})
