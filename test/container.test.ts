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

const servicesIn = (file: string): Record<string, Service> =>
  (parse(read(file).replaceAll(/\$\{STERNA_HOSTNAME[^}]*\}/g, 'mail.example.com')) as { services: Record<string, Service> }).services

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
