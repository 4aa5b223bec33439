import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseCommand } from '../src/clients/command/command-line.ts'
import { loadConfig } from '../src/platform/config/load-config.ts'
import type { HostPort } from '../src/platform/config/setting-types.ts'
import { dockerfileSteps } from './support/dockerfile.ts'

const root = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(resolve(root, file), 'utf8')

interface Service {
  command?: string[]
  environment: Record<string, string>
  ports: string[]
  read_only: boolean
  cap_drop: string[]
  security_opt: string[]
  networks?: Record<string, { ipv4_address: string }>
}

const servicesIn = (file: string): Record<string, Service> => {
  const text = read(file)
    .replaceAll(/\$\{STERNA_HOSTNAME[^}]*\}/g, 'mail.example.com')
    .replaceAll(/\$\{DATABASE_PASSWORD[^}]*\}/g, 'secret')
  return (parse(text, { merge: true }) as { services: Record<string, Service> }).services
}

const portsOf = (addresses: readonly HostPort[]): number[] => addresses.map(({ port }) => port)

describe.each(['compose.yaml', 'compose.caddy.yaml'])('%s', (file) => {
  const services = servicesIn(file)
  const { environment, ports } = services['sterna'] as Service
  const config = loadConfig({ env: environment })

  test('publishes what Sterna listens on, and nothing else', () => {
    const { submission, returnPath, http } = config
    const listening = [...portsOf(submission.listen), ...portsOf(submission.tlsListen), ...portsOf(returnPath.listen)]
    const web = services['caddy'] ? [] : [...portsOf(http.listen), ...portsOf(http.tlsListen)]
    const published = ports.map((port) => Number(port.split(':')[1]))
    expect(published.toSorted()).toEqual([...listening, ...web].toSorted())
    expect(Math.min(...published)).toBeGreaterThan(1023)
    expect(config.baseUrl).toBe('https://mail.example.com')
  })

  test('gives its network IPv6, so that no client hides behind an address of Docker', () => {
    const { networks } = parse(read(file)) as { networks: Record<string, { enable_ipv6?: boolean }> }
    expect(Object.values(networks).map((network) => network.enable_ipv6)).toEqual([true])
    expect(config.http.tlsListen.map(({ host }) => host)).toEqual(services['caddy'] ? [] : ['::'])
  })

  test('gives no right of root to anybody', () => {
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
    }
  })
})

describe('compose.scaled.yaml', () => {
  const { haproxy, postgres, ...nodes } = servicesIn('compose.scaled.yaml')
  const configs = Object.values(nodes).map(({ environment: { STERNA_TLS_CERT: _cert, STERNA_TLS_KEY: _key, ...env } }) =>
    loadConfig({ env }),
  )
  const addresses = Object.values(nodes).map(({ networks }) => networks?.['web']?.ipv4_address)
  const listens = Array.from(read('deploy/haproxy.cfg').matchAll(/^listen .*\n((?: .*\n?)+)/gm), ([, lines = '']) => ({
    port: Number(/bind \S+:(\d+)/.exec(lines)?.[1]),
    servers: Array.from(lines.matchAll(/server (\S+) (\S+)/g), ([, , address]) => address),
  }))

  test('has two nodes that share the database and the key, and nothing else on disk', () => {
    expect(configs).toHaveLength(2)
    expect(new Set(configs.map(({ dataDir }) => dataDir)).size).toBe(2)
    const shared = configs.map(({ store, secretKeyFile, hostname, baseUrl }) => [store.url?.reveal(), secretKeyFile, hostname, baseUrl])
    expect(shared[0]).toEqual(shared[1])
    expect(shared[0]?.[0]).toContain('@postgres/sterna')
    expect(postgres?.environment['POSTGRES_USER']).toBe('sterna')
  })

  test('publishes every port of the nodes at HAProxy, which hands it on to both and alone is believed', () => {
    const [config] = configs
    const { submission, returnPath, http } = config as NonNullable<typeof config>
    const listening = [submission.listen, submission.tlsListen, returnPath.listen, http.listen, http.tlsListen].flatMap(portsOf).toSorted()
    expect(haproxy?.ports.map((port) => Number(port.split(':')[1])).toSorted()).toEqual(listening)
    expect(listens.map(({ port }) => port).toSorted()).toEqual(listening)
    for (const { port, servers } of listens) expect(servers).toEqual(addresses.map((address) => `${address}:${port}`))
    for (const { environment, ports } of Object.values(nodes)) {
      expect(ports).toBeUndefined()
      expect(environment['STERNA_TRUSTED_PROXIES']).toBe(`${haproxy?.networks?.['web']?.ipv4_address}/32`)
    }
  })

  test('gives no right of root to anybody', () => {
    for (const service of [haproxy, postgres, ...Object.values(nodes)])
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  })
})

test('behind Caddy only Caddy is believed', () => {
  const { caddy, sterna } = servicesIn('compose.caddy.yaml')
  // A name would lead Caddy to Sterna over IPv6 as well, from an address that is not believed.
  expect(caddy?.command?.at(-1)).toBe(`${sterna?.networks?.['web']?.ipv4_address}:8080`)
  expect(sterna?.environment['STERNA_TRUSTED_PROXIES']).toBe(`${caddy?.networks?.['web']?.ipv4_address}/32`)
})

describe('Dockerfile', () => {
  const steps = dockerfileSteps(read('Dockerfile'))
  const wordsOf = (name: string): string[] => JSON.parse(steps.find((step) => step.name === name)?.value.replace(/^[^[]*/, '') ?? '[]')

  test('copies files that exist and that .dockerignore lets through', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
    const copied = steps.flatMap(({ name, value }) => (name === 'COPY' && !value.startsWith('--from') ? value.split(' ').slice(0, -1) : []))
    for (const source of copied) expect(existsSync(resolve(root, source)), source).toBe(true)
    expect(copied.toSorted()).toEqual(allowed.toSorted())
  })

  test('starts the server and asks it for its health by commands that exist', () => {
    const [, ...health] = wordsOf('HEALTHCHECK')
    expect(parseCommand({ argv: health, cwd: '/data' }).command.name).toBe('health')
    expect(wordsOf('ENTRYPOINT')).toEqual(['sterna'])
    expect(parseCommand({ argv: wordsOf('CMD'), cwd: '/data' }).command.name).toBe('serve')
  })

  test('exposes the ports that Sterna listens on', () => {
    const { submission, returnPath, http } = loadConfig({})
    const listening = [submission.listen, submission.tlsListen, returnPath.listen, http.listen].flatMap(portsOf)
    const exposed = steps
      .find(({ name }) => name === 'EXPOSE')
      ?.value.split(' ')
      .map(Number)
    expect(exposed?.toSorted()).toEqual([...listening, 8443].toSorted())
  })
})
