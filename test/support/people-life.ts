import { expect } from 'vitest'
import { FailedLogins } from '../../src/mail-in/submission/failed-logins.ts'
import { Passkeys } from '../../src/senders/account/passkeys.ts'
import { addGeneration } from '../../src/senders/account/key-file.ts'
import { tryToOpen } from '../../src/senders/account/sealed-secrets.ts'
import { totpCode, totpStepAt } from '../../src/senders/account/totp.ts'
import { authenticator } from './authenticator.ts'
import { fromBase32 } from './base32.ts'
import type { TestRelay } from './start-relay.ts'

/** A request by somebody with a cookie or a token of his own. */
async function ask(relay: TestRelay, method: string, path: string, who: { cookie?: string; token?: string }, body?: unknown): Promise<any> {
  const { cookie, token } = who
  const response = await fetch(relay.baseUrl + path, {
    method,
    headers: {
      ...(cookie === undefined ? {} : { cookie }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer = (await response.json()) as any
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  return { ...answer, cookie: response.headers.get('set-cookie')?.split(';')[0] }
}

async function submit(relay: TestRelay, link: string, form: Record<string, string>): Promise<string> {
  const response = await fetch(relay.baseUrl + new URL(link).pathname, { method: 'POST', body: new URLSearchParams(form) })
  if (!response.ok) throw new Error(`${link}: ${await response.text()}`)
  return response.headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** Whoever is the first makes himself known, lets others in, and looks after keys; `command` runs a command of the server. */
export async function keepPeople(relay: TestRelay, command: (...argv: string[]) => Promise<string>): Promise<void> {
  const { people, config } = relay.relay.services
  await people.setupLink.renew()
  await people.setupLink.withdraw()
  const link = `${config.baseUrl}/setup/${await people.setupLink.renew()}`
  await fetch(relay.baseUrl + new URL(link).pathname)
  const cookie = await submit(relay, link, { email: 'ann@test.example', password: 'correct horse' })
  const { token } = await ask(relay, 'POST', '/session/token', { cookie })
  await keepUsers(relay, { token, command })
  const changed = await keepSecondFactor(relay, cookie)
  relay.clock.advance(60_000)
  const { token: lasting } = await ask(relay, 'POST', '/session/token', { cookie: changed })
  await keepPasskey(relay)
  await guessKeys(relay)
  await keepKeys(relay, lasting)
  await readAudit(relay, lasting)
}

async function keepUsers(
  relay: TestRelay,
  { token, command }: { token: string; command: (...argv: string[]) => Promise<string> },
): Promise<void> {
  const invited = await ask(relay, 'POST', '/api/users', { token }, { email: 'bob@test.example', role: 'member' })
  await command('user', 'list')
  await submit(relay, await command('user', 'reset', 'bob@test.example'), { password: 'battery staple' })
  await ask(relay, 'PATCH', `/api/users/${invited.id}`, { token }, { role: 'admin' })
  const bob = await ask(relay, 'POST', '/session', {}, { email: 'bob@test.example', password: 'battery staple' })
  await ask(relay, 'DELETE', '/session', { cookie: bob.cookie })
  await ask(relay, 'POST', '/session', {}, { email: 'bob@test.example', password: 'battery staple' })
  await ask(relay, 'DELETE', `/api/users/${invited.id}`, { token })
  const account = await ask(relay, 'POST', '/api/accounts', { token }, { name: 'short-lived' })
  await command('user', 'invite', 'eve@test.example', '--account', 'short-lived', '--role', 'owner')
  await ask(relay, 'DELETE', `/api/accounts/${account.id}`, { token })
}

/** Gives the cookie of the session that the new password began. */
async function keepSecondFactor(relay: TestRelay, cookie: string): Promise<string> {
  const { clock } = relay
  const credentials = { email: 'ann@test.example', password: 'correct horse' }
  const begun = await ask(relay, 'POST', '/session/totp', { cookie }, { password: credentials.password })
  const secret = fromBase32(begun.secret)
  const code = () => totpCode(secret, totpStepAt(clock.now()))
  const { recovery_codes: codes } = await ask(relay, 'POST', '/session/totp/confirm', { cookie }, { code: code() })
  clock.advance(30_000)
  await ask(relay, 'POST', '/session', {}, { ...credentials, code: code() })
  await ask(relay, 'POST', '/session', {}, { ...credentials, code: codes[0] })
  await rotateKey(relay)
  await ask(relay, 'POST', '/session/totp/remove', { cookie }, { password: credentials.password })
  const change = { password: credentials.password, new_password: 'another horse' }
  return (await ask(relay, 'POST', '/session/password', { cookie }, change)).cookie
}

async function rotateKey({ relay }: TestRelay): Promise<void> {
  const { config, db, secrets } = relay.services
  addGeneration(config.secretKeyFile)
  await expect.poll(() => secrets.generations.length === 2 && secrets.used === secrets.newest).toBe(true)
  const open = (sealed: Uint8Array, context: string): Uint8Array => {
    if (!secrets.isCurrent(sealed, context)) throw new Error('it is sealed with the earlier key')
    return sealed
  }
  await expect.poll(() => tryToOpen(db, { open })).toMatchObject({ shut: 0 })
}

/** Passkeys work under https only; the relay of these tests has none. */
async function keepPasskey({ relay }: TestRelay): Promise<void> {
  const { db, clock, secrets, people } = relay.services
  const origin = 'https://relay.example'
  const passkeys = new Passkeys({ db, clock, secrets, users: people.users }, origin)
  const [device, ann] = [authenticator(origin), people.users.get('ann@test.example')]
  await people.users.renewHash(ann.id, ann.password ?? '', { shown: ann.password })
  const { session } = await people.sessions.begin(ann, { address: '192.0.2.1', userAgent: 'test' })
  const credential = device.create(await passkeys.registrationOptions(ann, session.id)) as never
  const { id } = await passkeys.register(ann.id, session.id, { name: 'Laptop', credential })
  await passkeys.verify(device.get(await passkeys.loginOptions('browser')) as never, { browser: 'browser', address: '192.0.2.1' })
  await passkeys.rename(ann.id, id, 'Phone')
  await passkeys.remove(ann.id, id)
}

/** Until there are too many failures. */
async function guessKeys({ relay }: TestRelay): Promise<void> {
  const logins = new FailedLogins(relay.services)
  for (let isTooMany = false; !isTooMany;) ({ isTooMany } = await logins.add('192.0.2.9'))
}

async function keepKeys(relay: TestRelay, token: string): Promise<void> {
  const { id } = await ask(relay, 'POST', '/api/api-keys', { token }, { name: 'app' })
  await ask(relay, 'PATCH', `/api/api-keys/${id}`, { token }, { name: 'the app' })
  for (const force of [false, true]) await ask(relay, 'POST', `/api/api-keys/${id}/rotate`, { token }, { overlap_seconds: 60, force })
}

async function readAudit(relay: TestRelay, token: string): Promise<void> {
  const { data } = await ask(relay, 'GET', '/api/audit', { token })
  const [newest, older] = data
  const when = 'since=2026-01-01T00:00:00Z&until=2027-01-01T00:00:00Z'
  const filters = [`account_id=${newest.account_id}`, `actor=${newest.actor.id}`, 'actor=command', 'action=users.delete', when]
  for (const query of [...filters, `after=${newest.id}`, `before=${older.id}`]) await ask(relay, 'GET', `/api/audit?${query}`, { token })
  await relay.relay.services.audit.sweep(relay.clock.now() - 1)
}
