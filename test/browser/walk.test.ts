import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { visitDashboard, type DashboardVisit } from '../support/dashboard-visit.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

const dayMs = 86_400_000

/** Opens a page as a click on a link does. */
const goTo = (tab: Page, path: string): Promise<void> =>
  tab.evaluate((to) => {
    const { history, dispatchEvent, PopStateEvent } = globalThis as any
    history.pushState({}, '', to)
    dispatchEvent(new PopStateEvent('popstate', { state: {} }))
  }, path)

/** Logs somebody else in, in the same tab. */
async function become({ context, relay, tab }: DashboardVisit, who: { email: string; password: string }): Promise<void> {
  await context.clearCookies()
  expect((await context.request.post(`${relay.baseUrl}/session`, { data: who })).status()).toBe(200)
  await tab.goto(`${relay.baseUrl}/emails`)
  await tab.getByRole('link', { name: who.email }).waitFor()
}

/** Words of what only looks at something, or copies it. */
const harmless =
  /^(?:Copy|Copied|Text|HTML|Headers|Source|Attachments|Desktop|Phone|Light|Dark|Details|Download|Node|Python|PHP|Ruby|Go|Users|Audit|Accounts)\b/

/** The words of all that can be pressed in the page, each once. */
async function controls(tab: Page): Promise<string[]> {
  const words = await tab.evaluate(() => {
    const pressed: any[] = Array.from((globalThis as any).document.querySelectorAll('main button, main a.btn'))
    return pressed.map((each): string => (each.getAttribute('aria-label') ?? each.textContent).trim())
  })
  return [...new Set(words)].filter((word) => !harmless.test(word)).toSorted()
}

const sections = {
  everyone: ['Overview', 'Emails', 'Analytics', 'Domains', 'Templates', 'Suppressions', 'Reports', 'Webhooks', 'Sandbox'],
  admin: ['API keys', 'People'],
  operator: ['Queue', 'Health', 'Settings'],
}

interface Walked {
  path: string
  /** What is there once the page is. */
  shows: string
  everyone?: string[]
  member?: string[]
  admin?: string[]
  /** Only operators, where it is a page of the server. */
  operator?: string[]
}

/** Every page where one user may press what another may not, with the controls that each role has in addition to those before it. */
async function pagesOf({ relay }: DashboardVisit): Promise<Walked[]> {
  const { url } = await startReceiver(status(200))
  // Only admins see the query.
  const shownUrl = url.replace(/\?.*/, '')
  const { body: webhook } = await relay.call('POST', '/api/webhooks', { url, events: ['email.opened'] })
  const bounced = await relay.send('gone@inbox.example', { subject: 'Bounced' })
  const later = new Date(Date.now() + dayMs).toISOString()
  const scheduled = await relay.send('ann@inbox.example', { subject: 'Scheduled', scheduled_at: later })
  await relay.call('POST', '/api/templates', { name: 'Welcome', alias: 'welcome', subject: 'Hello', html: '<p>Hello</p>' })
  await relay.call('POST', '/api/suppressions', { email: 'never@inbox.example' })
  await expect.poll(async () => (await relay.recipients(bounced))['gone@inbox.example']?.status).toBe('bounced')
  // What is on the suppression list is not offered to be sent again.
  await relay.call('DELETE', '/api/suppressions/gone@inbox.example')
  return [
    { path: `/emails/${bounced}`, shows: 'Bounced', member: ['Send again to 1'], admin: ['Suppress an address'] },
    { path: `/emails/${scheduled}`, shows: 'Scheduled', member: ['Cancel sending', 'Move'], admin: ['Suppress an address'] },
    { path: '/domains', shows: 'sender.example', admin: ['Add a domain'] },
    {
      path: '/domains/sender.example',
      shows: 'Required to send mail',
      everyone: ['Zone file'],
      admin: ['Check now', 'New keys', 'Remove the domain', 'Save'],
    },
    { path: '/templates', shows: 'Welcome', admin: ['Add a template'] },
    {
      path: '/templates/welcome',
      shows: 'Welcome',
      admin: ['Delete', 'Duplicate', 'Publish', 'Save draft', 'Send a test'],
    },
    {
      path: '/suppressions',
      shows: 'never@inbox.example',
      everyone: ['Export as CSV'],
      admin: ['Add addresses', 'Import', 'Remove'],
    },
    { path: '/webhooks', shows: shownUrl, admin: ['Add a webhook'] },
    {
      path: `/webhooks/${webhook.id}`,
      shows: shownUrl,
      admin: ['Change the webhook', 'Disable', 'New secret', 'Remove', 'Send a test', 'Send what failed again', 'Show the secret'],
    },
    { path: '/sandbox', shows: 'Sandbox', admin: ['Connect'] },
    { path: '/keys', shows: 'API keys', admin: ['Create an API key', 'New token', 'Revoke'] },
    { path: '/people', shows: '@people.example', admin: ['Change', 'Invite somebody', 'New link', 'Remove'] },
    { path: '/queue', shows: 'waiting', operator: ['Check', 'Give up', 'Hold', 'Try now'] },
    { path: '/health', shows: 'Server', operator: ['Check again'] },
    { path: '/settings', shows: 'STERNA_', operator: [] },
  ]
}

const levels = { viewer: 0, member: 1, admin: 2, owner: 2, operator: 3 }
type Walker = keyof typeof levels

/** What the API answers to a request that the page itself would not make. */
const forced = (tab: Page, method: string, path: string, body?: unknown): Promise<number> =>
  tab.evaluate(
    async ([asked, to, sent]) => {
      const { fetch } = globalThis
      const json = { 'content-type': 'application/json' }
      const { token } = (await (await fetch('/session/token', { method: 'POST', headers: json, body: '{}' })).json()) as { token: string }
      const headers = { ...json, authorization: `Bearer ${token}` }
      return (await fetch(to, { method: asked, headers, ...(sent === null ? {} : { body: sent }) })).status
    },
    [method, path, body === undefined ? null : JSON.stringify(body)] as const,
  )

test('each role sees its own sections and controls, and the server refuses the others anyway', async () => {
  const visit = await visitDashboard({ hooks: { rcpt: () => '550 5.1.1 No such user' } })
  const { relay, tab } = visit
  const pages = await pagesOf(visit)
  const email = { from: 'app@sender.example', to: 'ann@inbox.example', subject: 'Hello', text: 'Hello' }
  for (const role of Object.keys(levels) as Walker[]) {
    const level = levels[role]
    await become(visit, await visit.addUser(role === 'operator' ? 'viewer' : role, role === 'operator'))
    const shown = await tab.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents()
    expect(new Set(shown), role).toEqual(
      new Set([...sections.everyone, ...(level >= 2 ? sections.admin : []), ...(level === 3 ? sections.operator : [])]),
    )
    for (const { path, shows, everyone = [], member = [], admin = [], operator } of pages) {
      const isClosed = (operator && level < 3) || (['/keys', '/people'].includes(path) && level < 2)
      await goTo(tab, path)
      await tab
        .getByRole('main')
        .getByText(isClosed ? /^This page is for/ : shows)
        .first()
        .waitFor()
      const wanted = isClosed
        ? []
        : [...everyone, ...(level >= 1 ? member : []), ...(level >= 2 ? admin : []), ...(operator ?? [])].toSorted()
      await expect.poll(() => controls(tab), { message: `${role} ${path}` }).toEqual(wanted)
    }
    const allowed = (least: number): boolean => level >= least
    expect([role, (await forced(tab, 'POST', '/api/emails', email)) === 403]).toEqual([role, !allowed(1)])
    expect([role, (await forced(tab, 'POST', '/api/api-keys', { name: role, permission: 'sending_access' })) === 403]).toEqual([
      role,
      !allowed(2),
    ])
    if (!allowed(2)) expect(await forced(tab, 'DELETE', '/api/domains/sender.example')).toBe(403)
    if (!allowed(2)) expect(await forced(tab, 'GET', '/api/users')).toBe(403)
    if (!allowed(3)) expect(await forced(tab, 'GET', '/api/queue')).toBe(403)
  }
  expect((await relay.call('GET', '/api/domains/sender.example')).status).toBe(200)
})

test('a server that is away is told of on every page, and each comes back by itself and is live again', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  await relay.send('ann@inbox.example', { subject: 'Before' })
  const quiet = await visit.openTab()
  await quiet.goto(`${relay.baseUrl}/keys`)
  await quiet.getByRole('row', { name: /^test/ }).waitFor()
  await tab.goto(`${relay.baseUrl}/emails`)
  await tab.getByRole('link', { name: 'Before' }).waitFor()
  await tab.getByText('Live', { exact: true }).waitFor()
  await relay.relay.stop()
  const away = (page: Page) => page.getByText('The server cannot be reached.')
  await away(tab).waitFor()
  expect(await tab.getByRole('link', { name: 'Before' }).count()).toBe(1)
  await quiet.keyboard.press('r')
  await away(quiet).waitFor()
  expect(await quiet.getByRole('row', { name: /^test/ }).count()).toBe(1)
  await relay.restart()
  await away(tab).waitFor({ state: 'detached' })
  await away(quiet).waitFor({ state: 'detached' })
  await tab.getByText('Live', { exact: true }).waitFor()
  await relay.send('ann@inbox.example', { subject: 'After' })
  await tab.getByRole('link', { name: 'After' }).waitFor()
})

test('a session that is ended elsewhere leads to the login and back, and a suspended account says so', async () => {
  const visit = await visitDashboard()
  const { relay, tab, context } = visit
  const ann = await visit.addUser('owner')
  await become(visit, ann)
  await tab.goto(`${relay.baseUrl}/emails?to=ann%40inbox.example`)
  await tab.getByText('No email matches').waitFor()
  const elsewhere = await fetch(`${relay.baseUrl}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ann),
  })
  const cookie = elsewhere.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { data } = (await (await fetch(`${relay.baseUrl}/session/all`, { headers: { cookie } })).json()) as any
  const { id } = data.find(({ current }: { current: boolean }) => !current)
  expect((await fetch(`${relay.baseUrl}/session/all/${id}`, { method: 'DELETE', headers: { cookie } })).status).toBe(200)
  await tab.keyboard.press('r')
  await tab.getByRole('heading', { name: 'Log in' }).waitFor()
  await tab.getByLabel('Email address').fill(ann.email)
  await tab.getByLabel('Password').fill(ann.password)
  await tab.getByRole('button', { name: 'Log in', exact: true }).click()
  await tab.getByText('No email matches').waitFor()
  expect(new URL(tab.url()).search).toBe('?to=ann%40inbox.example')

  const { accounts } = relay.relay.services
  const { id: account } = accounts.getAccount('test')
  await accounts.change(account, { status: 'suspended' })
  await tab.keyboard.press('r')
  await tab.getByText('This account is suspended').waitFor()
  await accounts.change(account, { status: 'active' })
  await tab.keyboard.press('r')
  await tab.getByText('This account is suspended').waitFor({ state: 'detached' })
  expect(context.pages()).toHaveLength(1)
})

test('filters and the place in a list outlive a reload, back and forward; another tab follows', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const later = new Date(Date.now() + dayMs).toISOString()
  for (let count = 1; count <= 30; count++) await relay.send('ann@inbox.example', { subject: `Number ${count}`, scheduled_at: later })
  await relay.send('bob@inbox.example', { subject: 'Another' })
  await tab.goto(`${relay.baseUrl}/emails`)
  await tab.getByLabel('Recipient').fill('ann@inbox.example')
  await tab.getByLabel('Recipient').press('Enter')
  await tab.getByRole('tab', { name: 'Scheduled' }).click()
  const another = tab.getByRole('link', { name: 'Another' })
  await another.waitFor({ state: 'detached' })
  await tab.reload()
  await tab.getByRole('link', { name: 'Number 30' }).waitFor()
  expect(await tab.getByLabel('Recipient').inputValue()).toBe('ann@inbox.example')
  expect(await tab.getByRole('tab', { name: 'Scheduled' }).getAttribute('aria-selected')).toBe('true')
  const scrolled = () => tab.evaluate(() => (globalThis as any).scrollY as number)
  await tab.getByRole('link', { name: 'Number 1', exact: true }).scrollIntoViewIfNeeded()
  const place = await scrolled()
  expect(place).toBeGreaterThan(200)
  await tab.getByRole('link', { name: 'Number 1', exact: true }).click()
  await tab.getByRole('heading', { level: 1, name: 'Number 1' }).waitFor()
  await expect.poll(scrolled).toBe(0)
  await tab.goBack()
  await tab.getByRole('heading', { level: 1, name: 'Emails' }).waitFor()
  await expect.poll(scrolled).toBe(place)
  expect(await tab.getByLabel('Recipient').inputValue()).toBe('ann@inbox.example')
  await tab.goForward()
  await tab.getByRole('heading', { level: 1, name: 'Number 1' }).waitFor()
  // What leads up does as Back does, also after the page was loaded anew.
  const opensAgain = async (): Promise<void> => {
    await tab.getByRole('heading', { level: 1, name: 'Emails' }).waitFor()
    await expect.poll(scrolled).toBe(place)
    expect(await tab.getByLabel('Recipient').inputValue()).toBe('ann@inbox.example')
    expect(await tab.getByRole('tab', { name: 'Scheduled' }).getAttribute('aria-selected')).toBe('true')
    await tab.getByRole('link', { name: 'Number 1', exact: true }).click()
    await tab.getByRole('heading', { level: 1, name: 'Number 1' }).waitFor()
  }
  await tab.reload()
  await tab.getByRole('heading', { level: 1, name: 'Number 1' }).waitFor()
  for (const key of ['u', 'Escape']) {
    await tab.keyboard.press(key)
    await opensAgain()
  }
  await tab.getByRole('main').getByRole('link', { name: 'Emails', exact: true }).click()
  await opensAgain()

  const other = await visit.openTab()
  await other.goto(tab.url())
  await other.getByRole('button', { name: 'Cancel sending' }).click()
  await other.getByRole('dialog').getByRole('button', { name: 'Cancel sending' }).click()
  await tab.getByText('Canceled', { exact: true }).first().waitFor()
})
