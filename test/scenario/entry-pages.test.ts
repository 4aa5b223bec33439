import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { silentLog } from '../../src/platform/log.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** A page of ours, as a browser with these languages asks for it. */
async function pageAt(baseUrl: string, path: string, languages?: string, form?: Record<string, string>) {
  const answer = await fetch(baseUrl + path, {
    headers: { accept: 'text/html', ...(languages === undefined ? {} : { 'accept-language': languages }) },
    ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
  })
  return { status: answer.status, vary: answer.headers.get('vary') ?? '', text: await answer.text() }
}

const told: string[] = []
const tell = (_: object, text: string): void => void told.push(text)
let relay: TestRelay

beforeAll(async () => {
  relay = await startTestRelay({}, {}, { log: { ...silentLog, debug: tell, error: tell } })
})

afterAll(() => relay.stop())

test('the pages behind links speak the language of the browser, also of what is wrong', async () => {
  const { people, accounts } = relay.relay.services
  const invited = { accountId: accounts.getAccount('test').id, email: 'ann@people.example', role: 'owner' as const, operator: false }
  const { token } = await people.users.invite(invited)
  const english = await pageAt(relay.baseUrl, `/invite/${token}`)
  expect(english.text).toContain('<html lang="en">')
  expect(english.text).toContain('Welcome to Sterna')
  expect(english.vary).toContain('Accept-Language')
  const german = await pageAt(relay.baseUrl, `/invite/${token}`, 'de-AT,de;q=0.9,en;q=0.5')
  expect(german.text).toContain('<html lang="de">')
  expect(german.text).toContain('Willkommen bei Sterna')
  expect(german.text).toContain('Passwort, mindestens 10 Zeichen')
  // The mark of the dashboard, and its colours.
  expect(german.text).toContain('class="brand"')
  const short = await pageAt(relay.baseUrl, `/invite/${token}`, 'de', { password: 'short' })
  expect(short.status).toBe(422)
  expect(short.text).toContain('Ein Passwort muss 10 bis 200 Zeichen haben.')
  const over = await pageAt(relay.baseUrl, '/reset/never-there', 'de')
  expect(over.status).toBe(404)
  expect(over.text).toContain('Dieser Link gilt nicht mehr')
  const unknown = await pageAt(relay.baseUrl, '/u/never-there', 'de')
  expect(unknown.text).toContain('Dieser Link funktioniert nicht')
  // Whoever unsubscribes need not know what their sender runs.
  expect(unknown.text).not.toContain('Sterna')
  expect((await pageAt(relay.baseUrl, '/u/never-there', 'fr')).text).toContain('This link does not work')
})

/** The status of the answer to a form of which only the header has come. */
const beginForm = (baseUrl: string, path: string, headers: Record<string, string | number>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const client = request(baseUrl + path, { method: 'POST', headers, agent: false, timeout: 30_000 }, (answer) => {
      resolve(answer.statusCode)
      client.destroy()
    })
    client.on('timeout', () => client.destroy(new Error('no answer'))).on('error', reject)
    client.flushHeaders()
  })

test('a form is refused without waiting for it, by what its header says', async () => {
  const { people, accounts } = relay.relay.services
  const invited = { accountId: accounts.getAccount('test').id, email: 'ben@people.example', role: 'owner' as const, operator: false }
  const path = `/invite/${(await people.users.invite(invited)).token}`
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': 100 }
  const begin = (to: string, headers: Record<string, string | number>) => beginForm(relay.baseUrl, to, { ...form, ...headers })
  expect(await begin(path, { origin: 'https://elsewhere.example' })).toBe(403)
  expect(await begin(path, { 'content-type': 'application/json' })).toBe(415)
  expect(await begin(path, { 'content-length': 100_000 })).toBe(413)
  expect(await begin('/u/never-there', {})).toBe(404)
})

test('a client that leaves in the middle of a form is no fault of ours', async () => {
  told.length = 0
  const client = connect(Number(new URL(relay.baseUrl).port), '127.0.0.1').on('error', () => {})
  client.write(
    'POST /invite/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\na=',
  )
  // Once the answer says that it goes on, the request is under way.
  client.once('data', () => client.resetAndDestroy())
  await expect.poll(() => told).toContain('a request was answered')
  expect(told).not.toContain('a request failed because of an internal fault')
})
