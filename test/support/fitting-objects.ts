import { vi } from 'vitest'
import { roles } from '../../src/account/permission.ts'
import { totpCode, totpStepAt } from '../../src/account/totp.ts'
import { deleteUser } from '../../src/account/user-changes.ts'
import type { StoredUser } from '../../src/account/user.ts'
import type { OpenApiDocument } from '../../src/http/openapi.ts'
import { sessionCookie } from '../../src/http/session-cookie.ts'
import { fromBase32 } from './base32.ts'
import type { Call } from './owned-objects.ts'
import type { TestRelay } from './start-relay.ts'
import { startReceiver, status } from './webhook-receiver.ts'

/** What was made so that a request can succeed. */
export interface Fitting {
  parameters?: Record<string, string>
  headers?: Record<string, string>
  /** What the marks `<own …>` in its body stand for. */
  own?: Record<string, string>
}

export interface FittingMaker {
  /** percent of the requests that it is made for */
  share: number
  make(): Promise<Fitting>
}

type Makers = Record<string, FittingMaker['make']>

interface MakerParts {
  relay: TestRelay
  /** As an operator with a sandbox key. */
  call: Call
  /** Has others leave the object with this id alone. */
  keep(id: string): void
  /** A new number at each call. */
  next(): number
}

async function made(call: Call, path: string, body: unknown): Promise<any> {
  const answer = await call('POST', path, body)
  if (answer.status >= 300) throw new Error(`POST ${path} was refused: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** The maker for the longest beginning of the template that there is one for. */
const inside = (makers: Makers, template: string): FittingMaker['make'] | undefined => {
  const [place] = Object.keys(makers).filter((known) => template === known || template.startsWith(`${known}/`)).toSorted((a, b) => b.length - a.length)
  return place === undefined ? undefined : makers[place]
}

/**
 * What makes that which a request to an endpoint of the document is to find, in the state that the endpoint needs;
 * undefined where there is nothing to make.
 */
export function fittingObjects(parts: Omit<MakerParts, 'next'>, document: OpenApiDocument): (method: string, template: string) => FittingMaker | undefined {
  let count = 0
  const withNumbers = { ...parts, next: () => ++count }
  const special = { ...emails(withNumbers), ...queues(withNumbers), ...webhooks(withNumbers), ...links(withNumbers), ...sessions(withNumbers, document), ...examples(withNumbers, document) }
  const any = everything(withNumbers)
  return (method, template) => {
    const make = special[`${method} ${template}`] ?? inside(special, template)
    if (make) return { share: 85, make }
    // What belongs to something would not belong to the new one.
    const general = template.split('{').length === 2 ? inside(any, template) : undefined
    return general && { share: /^\/api\/(?:accounts|users)\//.test(template) ? 85 : 30, make: general }
  }
}

/** Something new of each kind, since others change and remove what there is. */
function everything({ call, next }: MakerParts): Makers {
  const bodies: Record<string, (number: number) => unknown> = {
    '/api/accounts/{id}': (number) => ({ name: `account ${number}` }),
    '/api/api-keys/{id}': (number) => ({ name: `key ${number}` }),
    '/api/domains/{idOrName}': (number) => ({ name: `made${number}.example` }),
    '/api/emails/{id}': (number) => ({ from: 'app@sender.example', to: 'delivered@simulator.test', subject: `Hello ${number}`, text: 'Hello' }),
    '/api/suppressions/{idOrEmail}': (number) => ({ email: `gone${number}@example.com` }),
    '/api/templates/{idOrAlias}': (number) => ({ name: `Welcome ${number}`, subject: 'Hello', html: '<p>Hello</p>' }),
    '/api/users/{id}': (number) => ({ email: `invited${number}@example.com`, role: 'member' }),
    '/api/webhooks/{id}': (number) => ({ url: `https://hooks.example/${number}`, events: ['email.complained'] }),
  }
  const makers = Object.fromEntries(
    Object.entries(bodies).map(([place, body]) => {
      const [, path = '', name = ''] = /^(.*)\/\{(\w+)\}$/.exec(place) ?? []
      return [
        place,
        async (): Promise<Fitting> => {
          const answer = await call('POST', path, body(next()))
          // Of some an account has a thousand at most, and then there are enough.
          return answer.status < 300 ? { parameters: { [name]: answer.body.id } } : {}
        },
      ]
    }),
  )
  return { ...makers, '/api/webhooks': () => withRoom(call), '/api/webhooks/{id}': () => withRoom(call).then(makers['/api/webhooks/{id}']) }
}

/** What the document's examples make is there once. */
function examples({ call }: MakerParts, document: OpenApiDocument): Makers {
  const { name } = exampleOf(document, '/api/domains') as { name: string }
  const { alias } = exampleOf(document, '/api/templates') as { alias: string }
  const without = (path: string) => async (): Promise<Fitting> => {
    await call('DELETE', path)
    return {}
  }
  return { 'POST /api/domains': without(`/api/domains/${name}`), 'POST /api/templates': without(`/api/templates/${alias}`) }
}

/** An account may have fifty webhooks. */
async function withRoom(call: Call): Promise<Fitting> {
  const { data } = (await call('GET', '/api/webhooks?limit=100')).body as { data: { id: string; url: string }[] }
  const generated = data.filter(({ url }) => !url.includes('127.0.0.1'))
  for (const { id } of generated.slice(30)) await call('DELETE', `/api/webhooks/${id}`)
  return {}
}

function emails({ relay, call, next }: MakerParts): Makers {
  const send = async (fields: Record<string, unknown>): Promise<string> =>
    (await made(call, '/api/emails', { from: 'app@sender.example', to: `delivered+${next()}@simulator.test`, subject: 'Hello', text: 'Hello', ...fields })).id
  const scheduled = async (): Promise<Fitting> => ({ parameters: { id: await send({ scheduled_at: new Date(relay.clock.now() + 3_600_000).toISOString() }) } })
  return {
    'PATCH /api/emails/{id}': scheduled,
    'POST /api/emails/{id}/cancel': scheduled,
    'POST /api/emails/{id}/resend': async () => {
      const id = await send({ to: `softbounced+${next()}@simulator.test` })
      await eventually(async () => (await call('GET', `/api/emails/${id}`)).body.recipients[0].status === 'bounced')
      return { parameters: { id } }
    },
  }
}

/** Live mail to a destination whose servers cannot be looked up. */
function queues({ relay, call, next }: MakerParts): Makers {
  const waiting = async (): Promise<Fitting> => {
    const domain = `waiting${next()}.example`
    relay.dns.zone[domain] = 'servfail'
    await relay.send(`user@${domain}`)
    await eventually(async () => {
      const { body } = await call('GET', `/api/queue/${domain}`)
      return body.in_hand === 0 && body.last_response !== null
    })
    return { parameters: { domain } }
  }
  return {
    '/api/queue/{domain}': waiting,
    '/api/queue/{domain}/release': async () => {
      const fitting = await waiting()
      await made(call, `/api/queue/${fitting.parameters?.domain}/hold`, undefined)
      return fitting
    },
  }
}

const eventually = (isSo: () => Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => {
    if (!(await isSo())) throw new Error('it is not so yet')
  }, patience)

/** A webhook that takes what it is sent: of the same event one delivery after the other, each of them ended. */
function webhooks({ call, keep, next }: MakerParts): Makers {
  let webhook: Promise<string> | undefined
  const make = async (): Promise<string> => {
    const receiver = await startReceiver(status(200))
    const { id } = await made(call, '/api/webhooks', { url: receiver.url, events: ['email.complained'] })
    keep(id)
    await made(call, '/api/emails', { from: 'app@sender.example', to: `complained+${next()}@simulator.test`, subject: 'Hello', text: 'Hello' })
    return id
  }
  const delivered = async (): Promise<Fitting> => {
    const id = await (webhook ??= make())
    return vi.waitFor(async () => {
      const { body } = await call('GET', `/api/webhooks/${id}/deliveries?limit=1`)
      const [last] = body.data
      if (last?.status !== 'success') throw new Error(`the last delivery is ${last?.status}`)
      return { parameters: { id, delivery_id: last.id, event_id: last.event_id } }
    }, patience)
  }
  return { '/api/webhooks/{id}/deliveries/{delivery_id}': delivered, '/api/webhooks/{id}/events/{event_id}': delivered }
}

/** Links as people get them, in a mail or from somebody else. */
function links({ relay, call, next }: MakerParts): Makers {
  const { db, people } = relay.relay.parts
  return {
    '/setup/{token}': async () => {
      // The link of the first day works until somebody owns the server.
      for (const { id } of people.users.list()) {
        await db.write(deleteUser(id))
        await people.sessions.endAll(id)
      }
      await people.users.load()
      return { parameters: { token: (await people.setupLink.renew()) ?? '' }, own: { email: `owner${next()}@people.example` } }
    },
    '/invite/{token}': async () => {
      const number = next()
      const invited = await made(call, '/api/users', { email: `invited${number}@people.example`, role: 'member' })
      const { invitation_url: url } = number % 2 === 0 ? invited : await made(call, `/api/users/${invited.id}/invitation`, undefined)
      return { parameters: { token: url.split('/').at(-1) } }
    },
    '/u/{token}': async () => {
      const html = '<a href="{{unsubscribe_url}}">No more</a>'
      const { id } = await made(call, '/api/emails', { from: 'app@sender.example', to: `reader${next()}@example.com`, subject: 'News', html, unsubscribe: true })
      const { body } = await call('GET', `/api/emails/${id}`)
      return { parameters: { token: /\/u\/([^"]+)/.exec(body.html)?.[1] ?? '' } }
    },
  }
}

/** Somebody who is logged in; the password is that of the document's example. */
function sessions({ relay, next }: MakerParts, document: OpenApiDocument): Makers {
  const { accounts, clock, config, people } = relay.relay.parts
  const { users } = people
  const shown = exampleOf(document, '/session') as { email: string; password: string }
  const accountId = accounts.findAccount('test')!.id
  let hash: Promise<string> | undefined
  const add = async (email = `user${next()}@people.example`): Promise<StoredUser> => {
    const { user } = users.newUser({ accountId, email, role: roles[next() % roles.length]!, operator: false })
    const added = { ...user, password: await (hash ??= people.passwords.hash(shown.password)), status: 'active' as const }
    await users.add(added, [])
    return added
  }
  const logIn = async (user: StoredUser) => {
    const { session, secret } = await people.sessions.begin(user, { address: '127.0.0.1', userAgent: 'generated' })
    const cookie = sessionCookie(config.baseUrl).give(secret).replace(/;.*/, '')
    return { id: session.id, fitting: { headers: { cookie }, own: { email: user.email, password: shown.password } } }
  }
  const code = async ({ id }: StoredUser): Promise<string> => totpCode(fromBase32((await people.secondFactors.begin(id)).secret), totpStepAt(clock.now()))
  return {
    '/session': async () => (await logIn(await add())).fitting,
    'POST /session': async () => {
      const user = users.findByEmail(shown.email) ? await add() : await add(shown.email)
      return { own: { email: user.email, password: shown.password } }
    },
    '/session/all/{id}': async () => {
      const user = await add()
      return { ...(await logIn(user)).fitting, parameters: { id: (await logIn(user)).id } }
    },
    '/session/totp/confirm': async () => {
      const user = await add()
      const { fitting } = await logIn(user)
      return { ...fitting, own: { code: await code(user) } }
    },
    '/session/totp/remove': async () => {
      const user = await add()
      await people.secondFactors.confirm(user.id, await code(user))
      return (await logIn(user)).fitting
    },
  }
}

const exampleOf = (document: OpenApiDocument, path: string): unknown =>
  (document.paths[path]!.post!.requestBody as { content: { 'application/json': { example: unknown } } }).content['application/json'].example

const patience = { timeout: 10_000, interval: 5 }
