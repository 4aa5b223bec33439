import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { NewApiKey } from '../../src/senders/account/api-keys.ts'
import type { Operation } from '../../src/api/operation/operation.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { BodyBudget } from '../../src/api/http/body-budget.ts'
import { RateLimit } from '../../src/api/http/rate-limit.ts'
import { openApiDocument } from '../../src/api/http/openapi.ts'
import { serverOperations } from '../../src/api/http/server-operations.ts'
import { startHttpServer, type HttpServer, type HttpServerServices } from '../../src/api/http/server.ts'
import { minuteMs, RateLimiter } from '../../src/platform/rate-limiter.ts'
import { answerCheck, type AnswerCheck } from './answer-check.ts'
import { coreServices, type CoreServices } from '../../src/api/core-services.ts'
import { QueueAdmin } from '../../src/mail-out/queue/queue-admin.ts'
import { WebhookList } from '../../src/notify/webhook/webhook-list.ts'
import { Erasures } from '../../src/upkeep/erasure/erasures.ts'
import { testCore, type TestCore } from './test-core.ts'

export type ApiServices = TestCore & CoreServices

export interface ApiAnswer {
  status: number
  headers: Headers
  /** The parsed JSON. */
  body: Record<string, unknown> & { name?: string; errors?: { field: string; code: string; message: string }[] }
  text: string
}

export interface ApiServer extends TestCore, Pick<CoreServices, 'sessions'> {
  server: HttpServer
  url: string
  /** Makes a key of the account `acme`, made when first needed, or of another. */
  token(wanted?: Partial<Omit<NewApiKey, 'accountId'>> & { account?: string }): Promise<string>
  /** Sends a request; an object as body travels as JSON. The answer must be one that the OpenAPI document promises. */
  request(method: string, path: string, options?: RequestOptions): Promise<ApiAnswer>
}

export interface RequestOptions {
  token?: string
  body?: unknown
  headers?: Record<string, string>
}

const about = {
  version: '1.2.3',
  baseUrl: 'https://mail.example.com',
  docs: true,
  health: { faults: [], isServing: true },
  webhooks: { timeout: 15_000, retrySchedule: [60_000, 300_000] },
}

/** By the operations that are checked: it takes longer to make one than to answer a request. */
const checks = new Map<string, AnswerCheck>()

function answerCheckFor(declared: Operation[]): AnswerCheck {
  const ids = declared.map(({ id }) => id).join()
  const check = checks.get(ids) ?? answerCheck(openApiDocument([...declared, ...serverOperations(about, () => [])], about))
  checks.set(ids, check)
  return check
}

/** A listening HTTP server over a real store, a new one unless that of another is given; all of it ends with the test. */
export async function startApiServer(
  operations: (services: ApiServices) => Operation[],
  overrides: Partial<HttpServerServices> = {},
  over?: Database,
): Promise<ApiServer> {
  const core = await testCore({ ...(over && { over }) })
  const { accounts, apiKeys, clock } = core
  const noteWaiting = (): void => {}
  const webhookList = new WebhookList({ ...core, onEnabled: () => {} }, { allowHttp: true })
  const queueAdmin = new QueueAdmin({ ...core, noteWaiting, tryNow: () => {} })
  const erasures = new Erasures({ ...core, owner: 'node_1' })
  const services: ApiServices = { ...coreServices({ ...core, webhookList, queueAdmin, erasures, noteWaiting }), ...core }
  const declared = operations(services)
  const server = await startHttpServer({
    ...services,
    ...about,
    trackingResponder: { answer: () => false },
    rateLimit: new RateLimit(services, { plans: { free: 100_000 }, defaultPlan: 'free' }),
    failedAuthentications: new RateLimiter(clock, { limit: 0, windowMs: minuteMs }),
    listen: [{ host: '127.0.0.1', port: 0 }],
    tlsListen: [],
    bodyRoom: new BodyBudget(),
    maxConnections: 1_000,
    tls: null,
    trustedProxies: [],
    operations: declared,
    ...overrides,
  })
  onTestFinished(() => server.stop(0))
  const url = `http://127.0.0.1:${(server.addresses[0] as AddressInfo).port}`
  return {
    ...core,
    sessions: services.sessions,
    server,
    url,
    async token({ account = 'acme', ...wanted } = {}) {
      const { id } = accounts.findAccount(account) ?? (await accounts.create(account, 'free'))
      return (await apiKeys.create({ accountId: id, name: 'test', permission: 'full_access', ...wanted })).token
    },
    async request(method, path, options) {
      const answer = await requestJson(url, method, path, options)
      answerCheckFor(declared)(method, path, answer)
      return answer
    },
  }
}

async function requestJson(url: string, method: string, path: string, options: RequestOptions = {}): Promise<ApiAnswer> {
  const { token, body, headers } = options
  const isPlain = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isPlain ? (body as string) : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : {}, text }
}
