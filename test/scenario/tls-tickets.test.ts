import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect, type SecureVersion, type TLSSocket } from 'node:tls'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { TicketKeys } from '../../src/platform/certificate/ticket-keys.ts'
import type { Certificates } from '../../src/server/relay/open-certificates.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testCertificate } from '../support/test-certificates.ts'

const day = 24 * 60 * 60_000
const places = ['submission', 'submission over TLS', 'return path', 'HTTPS'] as const
type Place = (typeof places)[number]
let relay: TestRelay

beforeEach(async () => {
  relay = await startTestRelay({ http_tls_listen: '127.0.0.1:0', log_level: 'error' })
  onTestFinished(() => relay.stop())
})

/** What commands have no use for. */
const certificates = (): Certificates => (relay.relay.services as unknown as { certificates: Certificates }).certificates

const portOf = (place: Place): number => {
  const { submission, returnPath, http } = relay.relay.addresses
  const found = { submission: submission[0], 'submission over TLS': submission[1], 'return path': returnPath[0], HTTPS: http[1] }[place]
  return found?.port ?? 0
}

interface Client {
  isResumed: boolean
  /** To resume. */
  session: Buffer
  certificate: string | undefined
}

/** What a client sees that connects, and resumes this session if the server lets it. */
async function client(place: Place, maxVersion: SecureVersion, session?: Buffer): Promise<Client> {
  const socket = connectTcp({ port: portOf(place), host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  if (place === 'submission' || place === 'return path') {
    for (const command of ['EHLO client.example', 'STARTTLS']) {
      await once(socket, 'data')
      socket.write(`${command}\r\n`)
    }
    await once(socket, 'data')
  }
  const secure: TLSSocket = connect({ socket, maxVersion, rejectUnauthorized: false, ...(session && { session }) })
  // With TLS 1.3 it comes after the handshake.
  const ticket = maxVersion === 'TLSv1.3' ? once(secure, 'session') : null
  await once(secure, 'secureConnect')
  const certificate = secure.isSessionReused() ? undefined : secure.getPeerX509Certificate()?.fingerprint256
  const newest = ticket ? (((await ticket.then(([given]) => given)) as Buffer | undefined) ?? Buffer.alloc(0)) : secure.getSession()
  return { isResumed: secure.isSessionReused(), session: newest ?? Buffer.alloc(0), certificate }
}

describe.each<SecureVersion>(['TLSv1.2', 'TLSv1.3'])('a session of %s', (version) => {
  test('is resumed on every port, after a restart too', async () => {
    const { session } = await client('submission', version)
    for (const place of places) expect([place, (await client(place, version, session)).isResumed]).toEqual([place, true])
    await relay.restart()
    for (const place of places) expect([place, (await client(place, version, session)).isResumed]).toEqual([place, true])
  })

  test('is resumed after the certificate was replaced, and new clients see the new one', async () => {
    const before = await client('submission', version)
    const { server, users } = certificates()
    const renewed = await testCertificate(['relay.example'])
    for (const use of users) use({ ...server.files, ...renewed })
    for (const place of places) {
      const [again, other] = [await client(place, version, before.session), await client(place, version)]
      expect([place, again.isResumed, other.isResumed]).toEqual([place, true, false])
      expect(other.certificate).not.toBe(before.certificate)
    }
  })

  test('is resumed the day after, with a ticket of the new key, and not two days after', async () => {
    const { tickets } = certificates()
    const first = await client('submission', version)
    relay.clock.advance(day)
    await tickets.look()
    const second = await client('submission', version, first.session)
    expect(second.isResumed).toBe(true)
    relay.clock.advance(day)
    await tickets.look()
    expect((await client('submission', version, first.session)).isResumed).toBe(false)
    if (version === 'TLSv1.3') expect((await client('submission', version, second.session)).isResumed).toBe(true)
  })
})

type Row = { id: string; key: Buffer; made_at: number }
const rows = (): Promise<Row[]> => relay.relay.services.db.read<Row>('select id, key, made_at from ticket_key order by made_at')

test('keys are sealed, made once a day, and erased after two, whichever way the clock is set', async () => {
  const { secrets, db } = relay.relay.services
  const [key] = await rows()
  expect(secrets.open(key?.key ?? Buffer.alloc(0), `ticket_key ${key?.id}`)).toHaveLength(48)
  for (const [change, kept] of [
    [day - 1, 1],
    [1, 2],
    [day, 2],
    [5 * day, 1],
    [-3 * day, 1],
  ] as const) {
    relay.clock.advance(change)
    const others = Array.from({ length: 3 }, () => new TicketKeys({ db, clock: relay.clock }, secrets))
    await Promise.all([certificates().tickets, ...others].map((each) => each.look()))
    expect([change, (await rows()).length]).toEqual([change, kept])
  }
})

test('a key that was sealed with another key file is replaced', async () => {
  const { db } = relay.relay.services
  const [before] = await rows()
  await db.write([{ sql: 'update ticket_key set key = :key', params: { key: Buffer.alloc(77, 1) } }])
  await certificates().tickets.look()
  const after = await rows()
  expect(after).toHaveLength(1)
  expect(after[0]?.id).not.toBe(before?.id)
  const { session } = await client('submission', 'TLSv1.3')
  expect((await client('HTTPS', 'TLSv1.3', session)).isResumed).toBe(true)
})
