import fc from 'fast-check'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { reportServices } from '../../src/platform/config/report-services.ts'
import type { CompatServices } from '../../src/api/http/compat/compat-api.ts'
import { compatApis } from '../../src/api/http/compat/compat-apis.ts'
import type { Permission } from '../../src/senders/account/permission.ts'
import type { OpenApiDocument } from '../../src/api/http/openapi.ts'
import { answerCheck, type AnswerCheck } from '../support/answer-check.ts'
import { encodedBody } from '../support/encoded-body.ts'
import type { Fitting } from '../support/fitting.ts'
import { fittingObjects } from '../support/fitting-objects.ts'
import { keepReturnedMail } from '../support/keep-returned-mail.ts'
import { keepSmarthost } from '../support/keep-smarthost.ts'
import { keepStsPolicy } from '../support/keep-sts-policy.ts'
import { keepTlsReport } from '../support/keep-tls-report.ts'
import { KnownPaths } from '../support/known-paths.ts'
import { makeObjects, pathTo, type Call } from '../support/owned-objects.ts'
import { requestsTo, type GeneratedRequest } from '../support/request-arbitrary.ts'
import { mark } from '../support/schema-arbitrary.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const requests = Number(process.env.STERNA_API_REQUESTS ?? 200)
const seed = Number(process.env.STERNA_API_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** So many reach every endpoint some fifty times. */
const enoughForAll = 6000
/** The part of their share that is made for requests of a shorter run: it takes longer than to send them. */
const madeFor = requests >= enoughForAll ? 1 : 0.2

/** The key, as the clients of that service show it. */
const credentials = (template: string, token: string): Record<string, string> => {
  if (template.startsWith('/compat/postmark/')) return { 'x-postmark-server-token': token }
  return { authorization: template.startsWith('/compat/mailgun/') ? `Basic ${btoa(`api:${token}`)}` : `Bearer ${token}` }
}

/** As the operator of the relay, with a live key. */
const callWith =
  (token: string, { baseUrl }: TestRelay, check: AnswerCheck): Call =>
  async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(baseUrl + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    const text = await response.text()
    check(method, path, { status: response.status, headers: response.headers, text })
    return { status: response.status, body: JSON.parse(text) }
  }

type Concrete = ReturnType<typeof concrete>

/** The request as it is sent, its marks replaced by what is known and what was made for it. */
function concrete(request: GeneratedRequest, known: KnownPaths, { parameters = {}, headers = {}, own = {} }: Fitting) {
  const fill = (text: string): string =>
    text.replace(mark, (_, number: string | undefined, name: string | undefined) =>
      number === undefined ? (own[name ?? ''] ?? '') : known.anyId(Number(number)),
    )
  const number = Number(/\d+/.exec(Object.values(request.parameters).at(-1) ?? '')?.[0] ?? 0)
  const fitting = number % 10 === 0 ? parameters : { ...known.parametersFor(request.template, number), ...parameters }
  const filled = Object.fromEntries(
    Object.entries(request.parameters).map(([name, value]) => [
      name,
      (value.search(mark) === 0 ? (fitting[name] ?? fill(value)) : value).toWellFormed() || '-',
    ]),
  )
  const query = new URLSearchParams(request.query.map(([name, value]): [string, string] => [name, fill(value)])).toString()
  const sent = Object.entries(request.headers).map(([name, value]) => [name, fill(value).replace(/[^\t\x20-\x7e\x80-\xff]/g, '')])
  return {
    parameters: filled,
    path: `${request.template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(filled[name] ?? ''))}${query === '' ? '' : `?${query}`}`,
    headers: { ...(Object.fromEntries(sent) as Record<string, string>), ...headers },
    body: request.body === undefined ? undefined : encodedBody(fill(request.body), request.mediaType).toWellFormed(),
  }
}

/** Sends it with this key; `text` is null of a stream, which does not end. */
async function exchange({ baseUrl }: TestRelay, { method, template }: GeneratedRequest, { path, headers, body }: Concrete, token: string) {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { ...headers, ...credentials(template, token) },
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(20_000),
  })
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return { response, text: await response.text() }
  await response.body!.cancel()
  return { response, text: null }
}

/** In some answers to a batch each email has its own, and it was of no use where all of them are refusals. */
const isSuccess = ({ ok }: Response, text: string | null, template: string): boolean =>
  ok && (!/postmark.*batch/i.test(template) || text?.includes('"ErrorCode":0') === true)

const countIn = <K>(map: Map<K, number>, key: K): unknown => map.set(key, (map.get(key) ?? 0) + 1)

/** How often there was success where it was rarest, and how often each status. */
function summaryOf(succeeded: Map<string, number>, statuses: Map<number, number>): string {
  const rarest = [...succeeded].toSorted(([, a], [, b]) => a - b).filter(([, count]) => count > 0)
  const rare = rarest
    .slice(0, 3)
    .map(([name, count]) => `${count} of ${name}`)
    .join(', ')
  const answers = [...statuses]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ')
  return `${rarest.length} of ${succeeded.size} endpoints with success, the rarest ${rare}\n${answers}`
}

const inSandbox =
  /^POST (?:\/compat\/|\/api\/(?:send|emails|emails\/batch|templates\/\{idOrAlias\}\/test)$)|^DELETE \/api\/emails(?:\/\{id\})?$/

/** Somebody of every permission, what there is from the beginning, and what can be made and known of it. */
async function prepare(relay: TestRelay, document: OpenApiDocument, check: AnswerCheck) {
  const { accounts, apiKeys, sendingDomains } = relay.relay.services
  const account = accounts.findAccount('test')!.id
  const tokenWith = async (permission: Permission, sandbox = false) =>
    (await apiKeys.create({ accountId: account, name: 'generated', permission, sandbox })).token
  const [operator, full, rehearsing] = [await tokenWith('operator'), await tokenWith('full_access'), await tokenWith('full_access', true)]
  const tokens = [
    ...Array<string>(13).fill(operator),
    ...Array<string>(4).fill(full),
    await tokenWith('sending_access'),
    await tokenWith('read_access'),
    'not_a_key',
  ]
  const call = callWith(operator, relay, check)
  const template = (await call('POST', '/api/templates', { name: 'Of the doors', subject: 'Hello', html: '<p>Hello</p>' })).body
    .id as string
  await call('POST', `/api/templates/${template}/publish`)

  const domains = sendingDomains.list(account).flatMap(({ id, name }) => [id, name])
  const known = new KnownPaths(document, [account, template, ...apiKeys.list(account).map(({ id }) => id), ...domains])
  const feedbackId = await keepReturnedMail(relay.relay.services, account)
  const objects = await makeObjects(call, {
    accountId: account,
    domain: 'sender.example',
    userId: 'usr_01kahk3yq4x8v5t2n7m9b6c1d0',
    feedbackId,
    tlsReportId: await keepTlsReport(relay.relay.services),
    stsDomain: await keepStsPolicy(relay.relay.services),
    ...(await keepSmarthost(relay.relay.services)),
  })
  for (const place of Object.keys(objects)) known.addPath(pathTo(place, objects, { exists: true }))
  known.add('/compat/mailgun/v3/{domain}', { domain: 'sender.example' })

  let count = 0
  /** Names and addresses of a request of its own. */
  const own = (): Record<string, string> => {
    const number = ++count
    const { id: event = '' } = known.parametersFor('/api/events/{id}', number)
    return { template, account, name: `new${number}.example`, alias: `new-${number}`, email: `new${number}@example.com`, event }
  }
  /** Most of what is sent comes from addresses that may be sent from in the sandbox alone, and only there emails are deleted. */
  const tokenFor = ({ token, method, template }: GeneratedRequest): string =>
    tokens[token] === operator && inSandbox.test(`${method} ${template}`) ? rehearsing : tokens[token]!
  return {
    tokenFor,
    known,
    own,
    makerFor: fittingObjects({ relay, call, rehearse: callWith(rehearsing, relay, check), keep: (id) => known.keep(id), document }),
  }
}

/** The lists of other services, whose documents say what they take; `test/peer/clients/compat-lists.test.ts` has success with them. */
const keptLists = new Set(
  compatApis({} as CompatServices).flatMap(({ prefix, actions = [] }) => actions.map(({ method, path }) => `${method} ${prefix}${path}`)),
)

/** What only a device can sign; `test/api/resource/passkey-operations.long.test.ts` has success with them. */
const signed = new Set(['POST /session/passkeys', 'POST /session/passkey'])

/** What only an OAuth 2 login to a smarthost has; `test/scenario/smarthost-oauth.long.test.ts` has success with them. */
const byOauth = new Set(['GET /api/smarthost', ...['retry', 'authorize', 'connect'].map((action) => `POST /api/smarthost/${action}`)])

/** What only a service that reports can prove; `test/scenario/smarthost-reports.test.ts` has success with them. */
const byServices = new Set(reportServices.map((service) => `POST /inbound/reports/${service}`))

const settings = {
  // Passkeys work under https only.
  base_url: 'https://relay.example',
  plans: 'enterprise=10000000,starter=500',
  http_failed_authentications_per_minute: '0',
  trusted_proxies: '127.0.0.1/32',
  webhooks_allow_private_addresses: 'true',
}

test(
  `${requests} requests made from the document: each answer is a promised one, and none is a fault of ours`,
  { timeout: 1_200_000 },
  async () => {
    const relay = await startTestRelay(settings)
    try {
      const document = (await fetch(`${relay.baseUrl}/openapi.json`).then((answer) => answer.json())) as OpenApiDocument
      const check = answerCheck(document)
      const { tokenFor, known, own, makerFor } = await prepare(relay, document, check)
      const endpoints = Object.entries(document.paths).flatMap(([template, methods]) =>
        Object.keys(methods).map((method) => ({ template, method })),
      )
      const succeeded = new Map(endpoints.map(({ template, method }) => [`${method.toUpperCase()} ${template}`, 0]))
      const statuses = new Map<number, number>()
      const delay = monitorEventLoopDelay({ resolution: 10 })
      delay.enable()
      const startedAt = performance.now()
      const generated = fc.oneof(...endpoints.map(({ template, method }) => requestsTo(document, template, method)))
      const send = async (request: GeneratedRequest): Promise<void> => {
        const { method, template } = request
        const maker = makerFor(method, template)
        const fitting = maker && request.luck < maker.share * madeFor ? await maker.make() : {}
        const sent = concrete(request, known, { ...fitting, own: { ...own(), ...fitting.own } })
        const { response, text } = await exchange(relay, request, sent, tokenFor(request))
        const { status, ok, headers } = response
        countIn(statuses, status)
        if (isSuccess(response, text, template)) countIn(succeeded, `${method} ${template}`)
        if (text === null) return
        if (status >= 500) throw new Error(`${method} ${sent.path} answered ${status}: ${text}`)
        // Some paths become others: a segment of dots is taken out before the request is sent.
        check(method, new URL(response.url).pathname, { status, headers, text })
        known.learn(text, { ok, template, parameters: sent.parameters })
      }
      const never = () =>
        endpoints.filter(({ method, template }) => {
          const name = `${method.toUpperCase()} ${template}`
          return succeeded.get(name) === 0 && !keptLists.has(name) && !signed.has(name) && !byOauth.has(name) && !byServices.has(name)
        })
      await fc.assert(fc.asyncProperty(generated, send), { numRuns: requests, endOnFailure: true, seed })
      // Those that chance left out have some for themselves.
      for (const { method, template } of requests >= enoughForAll ? never() : []) {
        await fc.assert(fc.asyncProperty(requestsTo(document, template, method), send), { numRuns: 300, endOnFailure: true, seed })
      }
      delay.disable()
      expect((await fetch(`${relay.baseUrl}/healthz`)).status).toBe(200)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      console.log(
        `${requests} requests in ${seconds} s, longest wait of the main thread ${(delay.max / 1e6).toFixed(0)} ms, seed ${seed}; ${summaryOf(succeeded, statuses)}`,
      )
      if (requests >= enoughForAll) expect(never(), 'every endpoint can do what it is for').toEqual([])
    } finally {
      await relay.stop()
    }
  },
)
