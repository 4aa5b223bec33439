import { expect, test } from 'vitest'
import { pageFaults, visitDashboard } from '../support/dashboard-visit.ts'

const source = 'HTML source'

test('a template is written, tried out, published, changed, and an earlier version restored', async () => {
  const { relay, mx, tab } = await visitDashboard()
  await tab.getByRole('link', { name: 'Templates' }).first().click()
  await tab.getByText('No template yet.').waitFor()
  await tab.getByRole('button', { name: 'Add a template' }).first().click()
  await tab.getByLabel('Name').fill('Welcome')
  await tab.getByLabel('Alias').fill('welcome')
  await tab.getByRole('button', { name: 'Add', exact: true }).click()
  await tab.getByRole('heading', { name: 'Welcome', level: 1 }).waitFor()

  await tab.getByLabel(source).fill('<p>Hello {{name}}</p>\n<p>You are on {{plan}}.</p>\n')
  await tab.getByText('2 variables have no value:').waitFor()
  await tab.getByRole('button', { name: 'Declare plan' }).click()
  await tab.getByLabel('Fallback of plan').fill('free')
  await tab.getByText('One variable has no value:').waitFor()
  await tab.getByLabel('Value of name').fill('<Ann>')
  const shown = tab.frameLocator('iframe[title="Preview"]')
  await shown.getByText('Hello <Ann>').waitFor()
  await shown.getByText('You are on free.').waitFor()

  await tab.getByText('Not saved').waitFor()
  await tab.getByRole('button', { name: 'Publish' }).click()
  await tab.getByText('It is published for the first time.').waitFor()
  await tab.getByRole('dialog').getByRole('button', { name: 'Publish' }).click()
  await tab.getByText('Version 1', { exact: true }).waitFor()
  await relay.call('POST', '/api/emails', {
    from: 'app@sender.example',
    to: 'ann@inbox.example',
    template: { id: 'welcome', variables: { name: 'Ann' } },
  })
  await expect.poll(() => mx.messages.length).toBe(1)

  await tab.getByLabel(source).fill('<p>Welcome {{name}}</p>\n<p>You are on {{plan}}.</p>\n')
  await tab.getByRole('button', { name: 'Publish' }).click()
  const dialog = tab.getByRole('dialog')
  await dialog.getByText('<p>Hello {{name}}</p>').waitFor()
  expect(await dialog.locator('del, ins').allTextContents()).toEqual(['<p>Hello {{name}}</p>', '<p>Welcome {{name}}</p>'])
  await dialog.getByRole('button', { name: 'Publish' }).click()
  await tab.getByText('Version 2', { exact: true }).waitFor()
  expect((await relay.call('GET', '/api/templates/welcome')).body).toMatchObject({
    version: 2,
    has_unpublished_versions: false,
    variables: [{ key: 'plan', type: 'string', fallback_value: 'free' }],
  })

  await tab.getByRole('button', { name: 'Restore' }).click()
  await tab.getByRole('dialog').getByText('<p>Hello {{name}}</p>').waitFor()
  await tab.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
  await tab.getByText('Version 3', { exact: true }).waitFor()
  expect((await relay.call('GET', '/api/templates/welcome/versions/3')).body.html).toContain('Hello {{name}}')
})

test('a test goes to a real mailbox, filled with the values of the preview', async () => {
  const { relay, mx, tab } = await visitDashboard()
  await relay.call('POST', '/api/templates', {
    name: 'Receipt',
    alias: 'receipt',
    subject: 'Receipt for {{name}}',
    html: '<p>{{#items}}<b>{{title}}</b>{{/items}}</p>',
  })
  await tab.goto(`${relay.baseUrl}/templates/receipt`)
  await tab.getByLabel('Value of name').fill('Ann')
  await tab.getByText('Receipt for Ann').waitFor()
  await tab.getByRole('button', { name: 'Send a test' }).click()
  await tab.getByLabel('To', { exact: true }).fill('ann@inbox.example')
  await tab.getByLabel('From').fill('app@sender.example')
  await tab.getByRole('button', { name: 'Send', exact: true }).click()
  await tab.getByText('On its way to ann@inbox.example.').waitFor()
  await expect.poll(() => mx.messages.length).toBe(1)
  await tab.getByRole('link', { name: 'See the email' }).click()
  await tab.getByRole('heading', { name: 'Receipt for Ann' }).waitFor()
})

test('what was typed outlives another page and the end of the session; the next user does not see it', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  await relay.call('POST', '/api/templates', { name: 'Welcome', alias: 'welcome', html: '<p>Hello</p>' })
  const leave = async (): Promise<void> => {
    await tab.getByRole('button', { name: 'Log out' }).first().click()
    await tab.getByRole('heading', { name: 'Log in' }).waitFor()
  }
  const comeBack = async (who: { email: string; password: string }): Promise<void> => {
    await tab.getByLabel('Email address').fill(who.email)
    await tab.getByLabel('Password').fill(who.password)
    await tab.getByRole('button', { name: 'Log in' }).click()
    await tab.getByRole('heading', { name: 'Welcome', level: 1 }).waitFor()
  }
  const admin = await visit.addUser('admin')
  await leave()
  await visit.logIn(admin)
  await tab.goto(`${relay.baseUrl}/templates/welcome`)
  await tab.getByLabel(source).fill('<p>Hello again</p>')
  await tab.getByRole('link', { name: 'Templates' }).first().click()
  await tab.getByText('Not saved').waitFor()
  await tab.getByRole('link', { name: 'Welcome' }).click()
  expect(await tab.getByLabel(source).inputValue()).toBe('<p>Hello again</p>')

  await leave()
  await comeBack(admin)
  expect(await tab.getByLabel(source).inputValue()).toBe('<p>Hello again</p>')
  const asked = tab.waitForEvent('dialog').then(async (dialog) => {
    // Chromium may have closed it by itself.
    await dialog.dismiss().catch(() => {})
    return dialog.type()
  })
  await tab.close({ runBeforeUnload: true })
  expect(await asked).toBe('beforeunload')
  await leave()
  await comeBack(await visit.addUser('viewer'))
  expect(await tab.getByLabel(source).inputValue()).toBe('<p>Hello</p>')
  expect(await tab.getByLabel(source).isEditable()).toBe(false)
  expect(await tab.getByRole('button', { name: /Save|Publish|Delete|Duplicate|Send a test/ }).count()).toBe(0)
})

test('a fault is named with its line, and the last preview stays', async () => {
  const { relay, tab } = await visitDashboard()
  await relay.call('POST', '/api/templates', { name: 'Welcome', alias: 'welcome', html: '<p>Hello</p>' })
  await tab.goto(`${relay.baseUrl}/templates/welcome`)
  await tab.frameLocator('iframe').getByText('Hello').waitFor()
  await tab.getByLabel(source).fill('<p>Hello</p>\n{{#open}}')
  await tab.getByText(/cannot be read at line 2/).waitFor()
  await tab.frameLocator('iframe').getByText('Hello').waitFor()
})

test('Tab indents, and a keyboard gets out of the field', async () => {
  const { relay, tab } = await visitDashboard()
  await relay.call('POST', '/api/templates', { name: 'Welcome', alias: 'welcome', html: 'one\ntwo' })
  await tab.goto(`${relay.baseUrl}/templates/welcome`)
  const field = tab.getByLabel(source)
  await field.press('Control+a')
  await field.press('Tab')
  expect(await field.inputValue()).toBe('  one\n  two')
  await field.press('Control+z')
  expect(await field.inputValue()).toBe('one\ntwo')
  await field.press('Escape')
  await field.press('Tab')
  expect(await field.evaluate((element) => element === (globalThis as any).document.activeElement)).toBe(false)
})

test('deleting what is in use asks for its name', async () => {
  const { relay, tab } = await visitDashboard()
  await relay.call('POST', '/api/templates', { name: 'Frame', alias: 'frame', html: '<main>{{{@content}}}</main>' })
  await relay.call('POST', '/api/templates/frame/publish')
  await relay.call('POST', '/api/templates', { name: 'Note', alias: 'note', html: '<p>Hello</p>', layout: 'frame' })
  await relay.call('POST', '/api/templates/note/publish')
  await tab.goto(`${relay.baseUrl}/templates/frame`)
  await tab.getByRole('button', { name: 'Duplicate' }).click()
  await tab.getByRole('heading', { name: 'Frame (copy)' }).waitFor()
  await tab.getByRole('button', { name: 'Delete' }).click()
  await tab.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await tab.getByRole('heading', { name: 'Templates' }).waitFor()
  await tab.getByRole('link', { name: 'Frame', exact: true }).click()
  await tab.getByRole('button', { name: 'Delete' }).click()
  await tab.getByText('Used by Note.').waitFor()
  const confirm = tab.getByRole('dialog').getByRole('button', { name: 'Delete' })
  expect(await confirm.isDisabled()).toBe(true)
  await tab.getByLabel('Type Frame to confirm').fill('Frame')
  await confirm.click()
  await tab.getByRole('link', { name: 'Note' }).waitFor()
  expect((await relay.call('GET', '/api/templates/frame')).status).toBe(404)
})

test('the pages of templates pass the rules of every page', async () => {
  const { relay, tab } = await visitDashboard()
  const html = '<!doctype html>\n<html>\n  <body>\n    <h1>Hello {{name}}</h1>\n    <p>You are on {{plan}}.</p>\n  </body>\n</html>\n'
  const variables = [{ key: 'plan', type: 'string', fallback_value: 'free' }]
  await relay.call('POST', '/api/templates', { name: 'Welcome', alias: 'welcome', subject: 'Welcome, {{name}}', html, variables })
  await relay.call('POST', '/api/templates/welcome/publish')
  await relay.call('PATCH', '/api/templates/welcome', { subject: 'Hello, {{name}}' })
  await relay.call('POST', '/api/templates/welcome/publish')
  await relay.call('PATCH', '/api/templates/welcome', { html: html.replace('Hello', 'Good day,') })
  await relay.call('POST', '/api/templates', { name: 'Password reset', html: '<p>Hello</p>' })
  const pages: [string, string][] = [
    ['templates', '/templates'],
    ['template', '/templates/welcome'],
  ]
  expect(await pageFaults(tab, relay.baseUrl, pages)).toEqual([])
})
