import { request } from 'node:http'
import { expect, test, vi } from 'vitest'
import { Dashboard } from '../../../src/api/http/dashboard.ts'
import type { DashboardFile } from '../../../src/api/http/dashboard-bundle.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { startApiServer } from '../../support/api-server.ts'
import { reusedDashboard } from '../../support/reused-dashboard.ts'

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function start({ baseUrl = 'https://mail.example.com', load = reusedDashboard } = {}) {
  const dashboard = new Dashboard({ baseUrl, log: silentLog, load })
  const { url } = await startApiServer(() => [], { dashboard, baseUrl })
  const get = (path: string, headers: Record<string, string> = html) => fetch(url + path, { headers, redirect: 'manual' })
  /** `fetch` sets the Host and Cache-Control fields by itself. */
  const statusOf = (path: string, headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const asked = request(url + path, { headers }, (res) => resolve(res.resume().statusCode))
      asked.on('error', reject).end()
    })
  return { get, statusOf }
}

const assetsIn = (page: string): string[] => Array.from(page.matchAll(/(?:href|src)="([^"]*\/assets\/[^"]+)"/g), ([, path = '']) => path)

test('a browser gets the page wherever nothing else is, under a policy that lets nothing else run', async () => {
  const { get } = await start()
  for (const path of ['/', '/emails/em_1', '/login']) {
    const answer = await get(path)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; .*require-trusted-types-for 'script'$/,
    )
    expect(answer.headers.get('content-security-policy')).not.toContain('unsafe')
    expect(answer.headers.get('x-frame-options')).toBe('DENY')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
  }
})

test('its assets are compressed, may be kept for ever, and have no inline script or style beside them', async () => {
  const { get, statusOf } = await start()
  const page = await (await get('/')).text()
  const assets = assetsIn(page)
  expect(assets).toHaveLength(3)
  expect(page).not.toMatch(/<style|<script(?![^>]* src=)|style=|onload=/)
  for (const path of assets) {
    for (const encoding of ['br', 'gzip', 'identity']) {
      const answer = await get(path, { 'accept-encoding': encoding })
      expect([answer.status, answer.headers.get('content-encoding') ?? 'identity']).toEqual([200, encoding])
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect((await answer.text()).length).toBeGreaterThan(100)
    }
    const { headers } = await get(path)
    expect(await statusOf(path, { 'if-none-match': headers.get('etag') ?? '' })).toBe(304)
  }
  expect((await get('/assets/main.OLD.js')).status).toBe(404)
})

test.each([
  ['a program', '/', { accept: 'application/json' }],
  ['a program that takes anything', '/', { accept: '*/*' }],
  ['the API', '/api/nothing', html],
  ['an asset', '/assets/nothing.js', html],
  ['a well-known file', '/.well-known/security.txt', html],
  ['a preview', '/preview/nothing', html],
])('%s gets JSON at %s', async (_, path, headers) => {
  const { get } = await start()
  const answer = await get(path, headers)
  expect(answer.status).toBeGreaterThanOrEqual(400)
  expect(answer.headers.get('content-type')).toMatch(/json/)
})

test('there is no login at a name that only leads here', async () => {
  const { statusOf } = await start()
  const hosts = [
    'mail.example.com',
    'MAIL.example.com',
    'localhost:8080',
    '192.0.2.1:8080',
    '[2001:db8::1]:8080',
    'links.customer.example',
    'evil.example',
  ]
  expect(await Promise.all(hosts.map((host) => statusOf('/', { ...html, host })))).toEqual([200, 200, 200, 200, 200, 404, 404])
})

test('behind a proxy with a path of its own, everything is below that path', async () => {
  const { get } = await start({ baseUrl: 'https://example.com/mail' })
  const page = await (await get('/')).text()
  expect(page).toContain('data-base-path="/mail"')
  expect(assetsIn(page).every((path) => path.startsWith('/mail/assets/'))).toBe(true)
})

test('where it was not built, the page says how, and it is looked for once', async () => {
  const load = vi.fn(async () => null)
  const { get } = await start({ load })
  const answers = await Promise.all([get('/'), get('/emails')])
  expect(answers.map(({ status }) => status)).toEqual([503, 503])
  expect(await answers[0]?.text()).toContain('npm run build')
  expect(load).toHaveBeenCalledOnce()
})

/** Files that a browser asks for with these: what they name in their imports. */
function loadedWith(assets: ReadonlyMap<string, DashboardFile>, names: string[]): Set<string> {
  const loaded = new Set<string>()
  for (const name of names) {
    if (loaded.has(name)) continue
    loaded.add(name)
    const text = assets.get(name)!.identity.toString()
    names.push(...Array.from(text.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g), ([, imported = '']) => imported))
  }
  return loaded
}

test('a first visit takes at most 96 KB in any language, and all pages together 166 KB', async () => {
  const { shell, assets } = (await reusedDashboard(''))!
  const sizeOf = (names: Iterable<string>): number => Array.from(names).reduce((sum, name) => sum + assets.get(name)!.gzip.length, 0)
  const named = Array.from(shell.identity.toString().matchAll(/\/assets\/([\w.-]+)/g), ([, name = '']) => name)
  const first = loadedWith(assets, [...named, ...Array.from(assets.keys()).filter((name) => /^(?:de|overview|email)\./.test(name))])
  expect(first.size).toBeGreaterThan(10)
  expect(shell.gzip.length + sizeOf(first)).toBeLessThan(96_000)
  expect(shell.gzip.length + sizeOf(assets.keys())).toBeLessThan(166_000)
})
