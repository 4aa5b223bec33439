import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { startKnot } from '../support/knot-server.ts'
import { faultsShown, keepScreenshot, openTab } from '../support/dashboard-visit.ts'
import { startPostfixMailbox } from '../support/postfix-mailbox.ts'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const mailHost = '127.0.9.40'

test('from the set-up link to the first email that was delivered', async () => {
  const mxPort = await freePort()
  const postfix = await startPostfixMailbox({ host: mailHost, port: mxPort })
  onTestFinished(() => postfix.stop())
  const knot = await startKnot(['acme.example', 'rcpt.example'])
  onTestFinished(() => knot.stop())
  await knot.serve('rcpt.example', ['@ MX 10 mx', `mx A ${mailHost}`])
  const baseUrl = `http://127.0.0.1:${await freePort()}`
  const server = await spawnServer(testDirectory(), {
    HTTP_LISTEN: new URL(baseUrl).host,
    BASE_URL: baseUrl,
    HOSTNAME: 'relay.example',
    DNS_SERVERS: knot.server,
    DELIVERY_PORT: String(mxPort),
    DELIVERY_ALLOW_PRIVATE_ADDRESSES: 'true',
  })
  await untilReady(server)
  const link = /http:\/\/\S+\/setup\/\S+/.exec(server.stdout())?.[0] ?? ''
  const { tab } = await openTab()

  await tab.goto(baseUrl)
  await tab.getByText('This server has no owner yet.').waitFor()
  await tab.goto(link)
  await tab.getByLabel('Email address').fill('mira@rcpt.example')
  await tab.getByLabel('Password').fill('correct horse battery')
  await tab.getByRole('button', { name: 'Begin' }).click()
  await tab.getByRole('heading', { name: '1 of 5 steps done' }).waitFor()

  const serverStep = tab.getByRole('listitem').filter({ has: tab.getByRole('heading', { name: 'This server' }) })
  await serverStep.getByText(/checks? failed/).waitFor()
  expect(await faultsShown(tab)).toEqual([])
  await keepScreenshot(tab, 'welcome-server')
  await tab.getByRole('button', { name: 'Skip This server' }).click()

  await tab.getByLabel('Domain name').fill('acme.example')
  await tab.getByRole('button', { name: 'Add a domain' }).click()
  const download = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'Zone file' }).click()
  await knot.serve('acme.example', [readFileSync(await (await download).path(), 'utf8')])
  // Whoever waits on the page need not press a button.
  await tab.getByRole('heading', { name: '2 of 5 steps done' }).waitFor()

  await tab.getByRole('button', { name: 'Create an API key' }).click()
  const token = await tab.locator('.token code').textContent()
  expect(await faultsShown(tab)).toEqual([])
  await keepScreenshot(tab, 'welcome-key')
  await tab.getByRole('button', { name: 'I have saved it' }).click()
  await tab.getByRole('heading', { name: '3 of 5 steps done' }).waitFor()

  expect(await tab.getByRole('region', { name: 'curl' }).textContent()).toContain(`Bearer ${token}`)
  await tab.getByRole('tab', { name: 'SMTP' }).click()
  await tab.getByText('relay.example', { exact: true }).waitFor()
  expect(await faultsShown(tab)).toEqual([])
  await tab.getByRole('button', { name: 'Send it from here to mira@rcpt.example' }).click()
  await tab.getByRole('heading', { name: '4 of 5 steps done' }).waitFor()
  await tab
    .getByText('Your first email was delivered.')
    .or(tab.getByText('Delivered', { exact: true }))
    .first()
    .waitFor()
  await keepScreenshot(tab, 'welcome-email')
  const box = join(postfix.directory, 'mail/box/new')
  const [mail = ''] = existsSync(box) ? readdirSync(box) : []
  expect(readFileSync(join(box, mail), 'utf8')).toMatch(/^DKIM-Signature: [^]*d=acme\.example/m)

  // With the set-up behind them, users come to the overview.
  await tab.goto(baseUrl)
  await tab.getByRole('heading', { name: /^Mail (?:is getting out|may no longer get out)/ }).waitFor()
})
