import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import type { Role } from '../../src/senders/account/permission.ts'
import { openBrowser } from './browser.ts'
import { startFakeMx, type FakeMx, type MxHooks } from './fake-mx.ts'
import { startTestRelay, type TestRelay } from './start-relay.ts'

/** A relay with a dashboard, looked at in a browser. */
export interface DashboardVisit {
  relay: TestRelay
  /** Takes mail to `inbox.example`. */
  mx: FakeMx
  context: BrowserContext
  tab: Page
  /** What a page wrote on the console, threw, or asked of another origin: nothing, at the end of every test. */
  complaints: string[]
  /** Adds a user of the relay's account. */
  addUser(role: Role, operator?: boolean): Promise<{ email: string; password: string }>
  logIn(who: { email: string; password: string }, tab?: Page): Promise<void>
  /** Another tab of the same browser. */
  openTab(): Promise<Page>
}

/** A browser with one tab, which complains of nothing until the test ends. */
export async function openTab(): Promise<Pick<DashboardVisit, 'context' | 'complaints' | 'openTab' | 'tab'>> {
  const browser = await openBrowser()
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    acceptDownloads: true,
  })
  onTestFinished(() => context.close())
  // Twenty times what an answer takes on a machine that others keep busy.
  context.setDefaultTimeout(90_000)
  const complaints: string[] = []
  const another = async (): Promise<Page> => {
    const tab = await context.newPage()
    tab.on('console', (message) => {
      // A refused request is the API's answer; what the page makes of it is looked at by the test. A frame with mail tells what of it
      // was blocked.
      const isOfMail = message.location().url.includes('/preview/') || message.text().includes('/preview/')
      const isAnswer = message.text().startsWith('Failed to load resource')
      if (!isOfMail && !isAnswer) complaints.push(message.text())
    })
    tab.on('pageerror', (error) => complaints.push(String(error)))
    tab.on('request', (request) => {
      if (!/^(?:http:\/\/(?:127\.0\.0\.1|localhost):|data:|blob:|about:)/.test(request.url()))
        complaints.push(`request to ${request.url()}`)
    })
    return tab
  }
  onTestFinished(() => expect(complaints).toEqual([]))
  return { context, complaints, openTab: another, tab: await another() }
}

const password = 'correct horse battery'
const tickMs = 50
let users = 0

/** Starts all of it and logs an owner, who is the operator, in; ends with the test. */
export async function visitDashboard({
  hooks = {},
  settings = {},
  host = '127.0.0.1',
}: { hooks?: MxHooks; settings?: Record<string, string>; host?: '127.0.0.1' | 'localhost' } = {}): Promise<DashboardVisit> {
  const mx = await startFakeMx({ host: '127.0.0.2', on: hooks })
  onTestFinished(() => mx.close())
  const port = await freePort()
  const relay = await startTestRelay(
    {
      delivery_port: String(mx.port),
      http_listen: `127.0.0.1:${port}`,
      base_url: `http://${host}:${port}`,
      webhooks_allow_private_addresses: 'true',
      ...settings,
    },
    { 'inbox.example': { a: ['127.0.0.2'] } },
  )
  onTestFinished(() => relay.stop())
  relay.baseUrl = `http://${host}:${port}`
  // The page tells ages by the time of day.
  relay.clock.advance(Date.now() - relay.clock.now())
  // Time passes: the stream of changes rests for a moment after each message.
  const passing = setInterval(() => relay.clock.advance(tickMs), tickMs)
  onTestFinished(() => clearInterval(passing))
  const { context, complaints, openTab: another, tab } = await openTab()
  const visit: DashboardVisit = {
    relay,
    mx,
    context,
    tab,
    complaints,
    openTab: another,
    async addUser(role, operator = false) {
      const { people, accounts } = relay.relay.services
      const email = `${role}${++users}@people.example`
      const { token } = await people.users.invite({ accountId: accounts.getAccount('test').id, email, role, operator })
      await people.users.takeInvitation(token, password)
      return { email, password }
    },
    async logIn(who, page = tab) {
      await page.goto(`${relay.baseUrl}/`)
      await page.getByLabel('Email address').fill(who.email)
      await page.getByLabel('Password').fill(who.password)
      await page.getByRole('button', { name: 'Log in', exact: true }).click()
      await page.getByRole('navigation', { name: 'Main' }).waitFor()
    },
  }
  await visit.logIn(await visit.addUser('owner', true))
  return visit
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** WCAG 2.2 AA, and what is good besides. */
const allRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The themes differ in nothing else. */
const rulesOfColours = ['color-contrast', 'link-in-text-block']

const looks = [
  ['light', 1280, allRules],
  ['dark', 1280, rulesOfColours],
  ['light', 390, allRules],
  ['dark', 390, rulesOfColours],
] as const

/**
 * What is wrong with pages in both themes, wide and narrow: rules of WCAG 2.2 AA that they break, and scrolling sideways.
 * Keeps a picture of each where the environment variable SCREENSHOTS names a folder, for people to look at.
 */
export async function pageFaults(tab: Page, baseUrl: string, pages: [name: string, path: string][]): Promise<string[]> {
  const faults: string[] = []
  for (const [name, path] of pages) {
    await openPage(tab, baseUrl + path)
    for (const [theme, width, rules] of looks) {
      await tab.setViewportSize({ width, height: 900 })
      await tab.emulateMedia({ colorScheme: theme })
      await keepScreenshot(tab, `${name}-${theme}-${width}`)
      faults.push(...(await faultsShown(tab, rules)).map((fault) => `${name} ${theme} ${width}: ${fault}`))
    }
  }
  return faults
}

/** Goes to a page and waits until it has all that it shows. */
export async function openPage(tab: Page, url: string): Promise<void> {
  await tab.goto(url)
  await tab.getByRole('heading', { level: 1 }).waitFor()
  await expect.poll(() => tab.locator('[aria-busy=true]').count()).toBe(0)
}

/** The same for the page as it stands, such as with a dialog open. */
export async function faultsShown(tab: Page, rules: readonly string[] = allRules): Promise<string[]> {
  const sideways = await tab.evaluate(() => {
    const { scrollWidth, clientWidth } = (globalThis as any).document.documentElement
    return scrollWidth - clientWidth
  })
  return [...(await accessibilityFaults(tab, rules)), ...(sideways > 0 ? [`scrolls sideways by ${sideways}`] : [])]
}

/** Those of the rules that the page breaks, with the elements. */
async function accessibilityFaults(tab: Page, rules: readonly string[]): Promise<string[]> {
  // The policy of the page allows no script but its own; this one comes from the debugger.
  if (await tab.evaluate('!globalThis.axe')) await tab.evaluate(axeSource)
  return tab.evaluate(
    async (runOnly) => {
      const { document, axe } = globalThis as any
      // A frame shows somebody's mail, and has no origin to be spoken to by.
      const { violations } = await axe.run(document, { runOnly, resultTypes: ['violations'], iframes: false })
      return violations.flatMap(({ id, nodes }: any) => nodes.map(({ html }: any) => `${id}: ${html.slice(0, 200)}`))
    },
    [...rules],
  )
}

export async function keepScreenshot(tab: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await tab.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}
