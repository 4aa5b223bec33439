import { readFileSync } from 'node:fs'
import { freePort } from '../../bench/free-port.ts'
import { welcome } from '../../src/clients/command/welcome.ts'
import type { FakeZone } from './fake-dns.ts'
import { startFakeMx, type FakeMx } from './fake-mx.ts'
import { onFileFinished } from './file-finished.ts'
import { startHaproxy } from './haproxy.ts'
import { startPostgres } from './postgres-server.ts'
import { settableClock } from './settable-clock.ts'
import { startTwoNodes, type TestNode, type TwoNodes } from './two-nodes.ts'

const example = new URL('../../deploy/haproxy.cfg', import.meta.url)
/** Ports of the example. */
const examplePorts = [2525, 2587, 2465, 8080, 8443] as const
type ExamplePort = (typeof examplePorts)[number]

const exampleNodes = ['172.31.254.3', '172.31.254.4'] as const
/** The address of the balancer, as in the example. */
export const balancerHost = '127.0.5.2'
const [hostA, hostB, mailHost] = ['127.0.5.3', '127.0.5.4', '127.0.5.5']

export interface Answered {
  status: number
  headers: Headers
  /** Parsed, if it is JSON. */
  body: any
  text: string
  /** The node that answered. */
  node: string
}

export interface Asking {
  /** Of an API key, or of a session. */
  token?: string | undefined
  cookie?: string | undefined
  /** Sent as JSON; an URLSearchParams as a form. */
  body?: unknown
  headers?: Record<string, string>
}

export interface BalancedNodes extends TwoNodes {
  /** Where a browser comes: each request goes to the next node. */
  baseUrl: string
  /** Of `balancerHost`, where each connection goes to the next node, by those of the example. */
  ports: Record<ExamplePort, number>
  /** Takes mail to `rcpt.example`. */
  mx: FakeMx
  postgresUrl: string
  /** One request, at the next node. */
  ask(method: string, path: string, how?: Asking): Promise<Answered>
  /** The same request again and again until each node has answered one; their answers. */
  askBoth(method: string, path: string, how?: Asking): Promise<Answered[]>
  /** Starts a node in the place of the first, which has stopped. */
  startAgain(settings?: Record<string, string>): Promise<TestNode>
}

/**
 * Two nodes over one PostgreSQL behind HAProxy with the configuration of deploy/haproxy.cfg, except that it takes the nodes in turn, and one
 * listener more that does so with each request; they end with the file. `settings`: of both.
 */
export async function startBalancedNodes(
  settings: Record<string, string> = {},
  { zone = {}, ofB = {}, ports: given }: { zone?: FakeZone; ofB?: Record<string, string>; ports?: BalancedNodes['ports'] } = {},
): Promise<BalancedNodes> {
  const postgres = startPostgres()
  onFileFinished(async () => postgres.stop())
  const mx = await startFakeMx({ host: mailHost })
  onFileFinished(() => mx.close())
  const ports = given ?? (await portsOfBalancer())
  const eachRequest = await freePort()
  const baseUrl = `http://localhost:${eachRequest}`
  const haproxy = await startHaproxy(configuration(ports, eachRequest), { host: balancerHost, ports: Object.values(ports) })
  onFileFinished(() => haproxy.stop())

  zone['rcpt.example'] = { a: [mailHost] }
  const postgresUrl = await postgres.newUrl()
  const nodes = await startTwoNodes(
    {
      store_url: postgresUrl,
      base_url: baseUrl,
      trusted_proxies: `${balancerHost}/32`,
      delivery_port: String(mx.port),
      ...listening(hostA, ports),
      ...settings,
    },
    zone,
    {
      a: Date.now(),
      b: Date.now(),
      ofB: { ...listening(hostB, ports), ...ofB },
      onFinished: (end) => onFileFinished(async () => void (await end())),
    },
  )
  const ask: BalancedNodes['ask'] = async (method, path, { token, cookie, body, headers = {} } = {}) => {
    const isForm = body === undefined || body instanceof URLSearchParams
    const answer = await fetch(baseUrl + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(cookie !== undefined && { cookie }),
        ...(!isForm && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.includes('json')
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: isJson ? JSON.parse(text) : null,
      node: answer.headers.get('x-node') ?? '',
    }
  }
  const askBoth: BalancedNodes['askBoth'] = async (...request) => {
    const answers: Answered[] = []
    while (new Set(answers.map(({ node }) => node)).size < 2) answers.push(await ask(...request))
    return answers
  }
  const untilUp = async (node: string): Promise<void> => {
    // It looks for them every two seconds.
    while ((await ask('GET', '/healthz')).node !== node) await new Promise((resolve) => setTimeout(resolve, 100))
  }
  for (const node of ['sterna-1', 'sterna-2']) await untilUp(node)
  const startAgain: BalancedNodes['startAgain'] = async (own = {}) => {
    const node = await nodes.startAnother({ ...listening(hostA, ports), ...own }, settableClock(Date.now()))
    await untilUp('sterna-1')
    return node
  }
  return {
    ...nodes,
    baseUrl,
    ports,
    mx,
    postgresUrl,
    ask,
    askBoth,
    startAgain,
  }
}

/** The links to set a server up that its nodes print when they start, in the order of their starts. */
export async function setUpLinks({ a, b }: TwoNodes): Promise<string[]> {
  const links: string[] = []
  for (const { relay } of [a, b]) {
    const { stdout = '' } = await welcome(relay, { version: 'test', start: null })
    links.push(/\/setup\/\S+/.exec(stdout)?.[0] ?? '')
  }
  return links
}

/** Free ports by those of the example. */
export async function portsOfBalancer(): Promise<BalancedNodes['ports']> {
  const ports: [ExamplePort, number][] = []
  for (const port of examplePorts) ports.push([port, await freePort()])
  return Object.fromEntries(ports) as BalancedNodes['ports']
}

const listening = (host: string, ports: BalancedNodes['ports']): Record<string, string> => ({
  http_listen: `${host}:${ports[8080]}`,
  http_tls_listen: `${host}:${ports[8443]}`,
  submission_listen: `${host}:${ports[2587]}`,
  submission_tls_listen: `${host}:${ports[2465]}`,
  return_path_listen: `${host}:${ports[2525]}`,
})

/** The example, with addresses and ports of this machine. */
function configuration(ports: BalancedNodes['ports'], eachRequest: number): string {
  let text = replaceEach(readFileSync(example, 'utf8'), {
    'balance leastconn': 'balance roundrobin',
    // As many as a user's limit on open files allows.
    'maxconn 20000': 'maxconn 500',
    'default-server ': `default-server source ${balancerHost} `,
    [exampleNodes[0]]: hostA,
    [exampleNodes[1]]: hostB,
    ':::': `${balancerHost}:`,
    ' v4v6': '',
  })
  for (const port of examplePorts) text = text.replaceAll(new RegExp(`(?<=[: ])${port}\\b`, 'g'), String(ports[port]))
  return `${text}
listen each-request
  mode http
  option http-server-close
  http-response set-header X-Node %s
  bind 127.0.0.1:${eachRequest}
  server sterna-1 ${hostA}:${ports[8080]}
  server sterna-2 ${hostB}:${ports[8080]}
`
}

function replaceEach(text: string, replacements: Record<string, string>): string {
  return Object.entries(replacements).reduce((done, [from, to]) => {
    if (!done.includes(from)) throw new Error(`the example has no "${from}"`)
    return done.replaceAll(from, to)
  }, text)
}
