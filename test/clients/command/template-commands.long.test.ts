import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../../src/clients/command/command-line.ts'
import { openCommandServices } from '../../../src/clients/command/open-command-services.ts'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { firstAccount } from '../../support/first-account.ts'
import { runInOwnProcess } from '../../support/run-commands.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

/** As MJML writes it: conditionals for Outlook, line ends of Windows, a byte order mark, entities, no-break spaces. */
const mjml = Buffer.from(
  `\ufeff<!doctype html>\r\n<html xmlns:v="urn:schemas-microsoft-com:vml">\r\n<head><title>\r\n Your order &amp; thanks, {{name}}\r\n</title>\r\n` +
    `<!--[if mso]><noscript><xml><o:PixelsPerInch>96</o:PixelsPerInch></xml></noscript><![endif]-->\r\n<style>@media (max-width:480px){ .a{ width:100%!important } }</style></head>\r\n` +
    `<body style="word-spacing:normal;"><!--[if mso | IE]><table><tr><td><![endif]-->\u00a0Grüße 🐦 &zwnj;&nbsp; <a href='https://a.example/?a=1&b={{id}}'>x</a>\t \r\n` +
    `{{#items}}\r\n<p>{{title}}</p>\r\n{{/items}}\r\n<!--[if mso | IE]></td></tr></table><![endif]--></body></html>\r\n\r\n`,
)
/** As React Email writes it: one line, comments of React, no line break at the end. */
const react = Buffer.from(
  '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><!--$--><html dir="ltr" lang="en"><head></head><body><!--$--><p style="font-size:14px">Hi <!-- -->{{name}}<!-- -->,</p>{{&gt; footer}}<div style="display:none">\u200c\u00a0\u200c</div><!--/$--></body></html><!--/$-->',
)

/** What MJML 5.4 and React Email (render 2.3) made, from sources with tags of all kinds. */
const fixtures = join(import.meta.dirname, '../../fixtures/made-html')

async function start() {
  const directory = testDirectory()
  const config = loadConfig({ env: { STERNA_DATA_DIR: join(directory, 'data'), STERNA_HOSTNAME: 'mail.example.com' } })
  const { services, close } = await openCommandServices(config, silentLog)
  onTestFinished(close)
  const { id: accountId } = await services.accounts.create('shop', 'free')
  mkdirSync(join(directory, 'mail'))
  return {
    directory,
    accountId,
    templates: services.templates,
    audit: async () => (await services.audit.page({}, { limit: 50, after: null, before: null })).map(({ operation }) => operation),
    write: (files: Record<string, string | Buffer>) =>
      Object.entries(files).forEach(([name, text]) => writeFileSync(join(directory, 'mail', name), text)),
    push: (...words: string[]) =>
      runCommand({ argv: ['template', 'push', ...words, '--account', 'shop'], cwd: join(directory, 'mail') }, services),
    pull: (...words: string[]) => runCommand({ argv: ['template', 'pull', ...words, '--account', 'shop'], cwd: directory }, services),
  }
}

test('pages of MJML and React Email come and go byte for byte', async () => {
  const { directory, write, push, pull } = await start()
  write({ 'order.html': mjml, 'welcome.html': react, 'welcome.subject': 'Welcome, {{name}}\n', 'welcome.txt': 'Hi {{name}}\r\n' })
  expect(await push('order.html', 'welcome.html')).toEqual({ stdout: 'order created\nwelcome created\n', stderr: '', exitCode: 0 })
  expect(await pull('--directory', 'copy')).toMatchObject({ stderr: '', exitCode: 0 })
  const copy = (name: string) => readFileSync(join(directory, 'copy', name))
  expect(copy('order.html').equals(mjml)).toBe(true)
  expect(copy('welcome.html').equals(react)).toBe(true)
  expect(copy('welcome.txt').toString()).toBe('Hi {{name}}\r\n')
  expect(copy('order.subject').toString()).toBe('Your order & thanks, {{name}}\n')
  expect(readdirSync(join(directory, 'copy')).toSorted()).toEqual([
    'order.html',
    'order.json',
    'order.subject',
    'welcome.html',
    'welcome.json',
    'welcome.subject',
    'welcome.txt',
  ])
})

test.each(['mjml', 'react-email', 'react-email-pretty'])(
  'what %s has made is published with what its tags stand for, and otherwise as it is',
  async (name) => {
    const { accountId, directory, templates, write, push, pull } = await start()
    const html = readFileSync(join(fixtures, `${name}.html`))
    write({ [`${name}.html`]: html, 'footer.html': '<p>Shop</p>\n' })
    expect(await push(`${name}.html`, 'footer.html', '--publish')).toMatchObject({ stderr: '', exitCode: 0 })
    await pull(name, '--directory', 'copy')
    expect(readFileSync(join(directory, 'copy', `${name}.html`)).equals(html)).toBe(true)
    const { template } = await templates.live.get(accountId, name)
    expect(template.html).toBe(html.toString().replace(/\{\{(?:>|&gt;) footer\}\}/, '<p>Shop</p>'))
    expect(template.subject).toMatch(/^(?:Order \{\{number\}\}|Hi \{\{name\}\})$/)
  },
)

test('what is pushed twice makes nothing new, what has changed makes a version', async () => {
  const { accountId, templates, write, push, audit } = await start()
  const settings = {
    name: 'Welcome',
    from: 'Shop <shop@example.com>',
    reply_to: 'help@example.com',
    variables: [{ key: 'name', type: 'string', fallback_value: 'you' }],
  }
  write({ 'welcome.html': '<p>Hi {{name}}</p>', 'welcome.json': JSON.stringify(settings) })
  expect((await push('welcome.html', '--publish')).stdout).toBe('welcome created, published as version 1\n')
  const first = await templates.get(accountId, 'welcome')
  expect(first).toMatchObject({
    name: 'Welcome',
    from: 'Shop <shop@example.com>',
    replyTo: ['help@example.com'],
    subject: null,
    liveNumber: 1,
  })
  expect((await push('welcome.html', '--publish')).stdout).toBe('welcome unchanged, published before as version 1\n')
  expect(await templates.get(accountId, 'welcome')).toEqual(first)
  write({ 'welcome.html': '<p>Hello {{name}}</p>' })
  expect((await push('welcome.html')).stdout).toBe('welcome updated\n')
  expect((await templates.live.get(accountId, 'welcome')).template.html).toBe('<p>Hi {{name}}</p>')
  expect((await push('welcome.html', '--publish')).stdout).toBe('welcome unchanged, published as version 2\n')
  expect((await templates.live.get(accountId, 'welcome')).template.html).toBe('<p>Hello {{name}}</p>')
  const [version] = await templates.versions.list(first)
  expect(JSON.parse(version?.published_by ?? '')).toEqual({ type: 'command', id: null, name: 'command line' })
  expect(await audit()).toEqual(Array(4).fill('template push'))
})

test('layouts and partials are published before what they stand in, and what is left behind is told', async () => {
  const { accountId, templates, write, push } = await start()
  write({ 'page.html': '<p>1</p>', 'page.json': '{"layout": "frame"}', 'frame.html': '<{{> head}}{{{@content}}}>', 'head.html': 'HEAD\n' })
  expect(await push('page.html', 'frame.html', 'head.html', '--publish')).toMatchObject({
    stdout: 'page created, published as version 1\nframe created, published as version 1\nhead created, published as version 1\n',
    stderr: '',
  })
  expect((await templates.live.get(accountId, 'page')).template.html).toBe('<HEAD<p>1</p>>')
  write({ 'head.html': 'NEW' })
  expect(await push('head.html', '--publish')).toMatchObject({
    stdout: 'head updated, published as version 2\n',
    stderr: 'Still published with an older layout or partial, until you publish them again: page, frame\n',
  })
  expect((await templates.live.get(accountId, 'page')).template.html).toBe('<HEAD<p>1</p>>')
  expect(await push('page.html', 'frame.html', '--publish')).toMatchObject({
    stdout: 'page unchanged, published as version 2\nframe unchanged, published as version 2\n',
    stderr: '',
  })
  expect((await templates.live.get(accountId, 'page')).template.html).toBe('<NEW<p>1</p>>')
})

test.each<[what: string, files: Record<string, string | Buffer>, file: string, message: RegExp]>([
  ['is not there', {}, 'gone.html', /gone\.html: There is no such file/],
  ['is no HTML', { 'a.md': '' }, 'a.md', /ends with \.html/],
  ['has a name that is no alias', { 'A b.html': 'x' }, 'A b.html', /becomes the alias/],
  ['is not UTF-8', { 'a.html': Buffer.from([0x3c, 0xe9, 0x3e]) }, 'a.html', /is not UTF-8/],
  ['is empty', { 'a.html': '' }, 'a.html', /html/],
  ['is too large', { 'a.html': 'x'.repeat(5 * 1024 * 1024 + 1) }, 'a.html', /5 MiB/],
  ['cannot be read as a template', { 'a.html': '<p>\n{{#a}}' }, 'a.html', /at line 2\. \{\{#a\}\} is never closed/],
  ['has settings that are no JSON', { 'a.html': 'x', 'a.json': '{' }, 'a.html', /a\.json is not JSON/],
  ['has settings that are a list', { 'a.html': 'x', 'a.json': '[]' }, 'a.html', /must hold a JSON object/],
  ['has settings with a mistyped name', { 'a.html': 'x', 'a.json': '{"form": ""}' }, 'a.html', /"form", which is unknown/],
  ['has a sender that is none', { 'a.html': 'x', 'a.json': '{"from": "nobody"}' }, 'a.html', /`from` field is not a valid/],
  ['has a subject of two lines', { 'a.html': 'x', 'a.subject': 'one\ntwo\n' }, 'a.html', /subject/],
  [
    'is called by an id that there is not',
    { [`tpl_${'0'.repeat(26)}.html`]: 'x' },
    `tpl_${'0'.repeat(26)}.html`,
    /no template with this id/,
  ],
])('a file that %s is told, and the others are taken', async (_, files, file, message) => {
  const { write, push, accountId, templates } = await start()
  write({ ...files, 'good.html': '<title>Good</title>' })
  expect(await push(file, 'good.html')).toMatchObject({ stdout: 'good created\n', stderr: expect.stringMatching(message), exitCode: 1 })
  expect(await templates.get(accountId, 'good')).toMatchObject({ subject: 'Good', name: 'good' })
})

test('what cannot be published is told, and stays a draft', async () => {
  const { write, push } = await start()
  write({ 'a.html': '{{> gone}}', 'b.html': 'b' })
  expect(await push('a.html', 'b.html', '--publish')).toEqual({
    stdout: 'a created\nb created, published as version 1\n',
    stderr: 'sterna: a: The partial {{> gone}} does not exist: there is no template with this alias or id.\n',
    exitCode: 1,
  })
})

test('a pull leaves files alone that differ, unless it is to overwrite', async () => {
  const { directory, accountId, templates, write, push, pull } = await start()
  write({ 'a.html': 'server', 'a.txt': 'text' })
  await push('a.html')
  await templates.change(accountId, 'a', { text: null })
  write({ 'a.html': 'mine' })
  expect(await pull('a', '--directory', 'mail')).toEqual({
    stdout: 'a.json\n',
    stderr: 'sterna: These files differ and were left unchanged; --overwrite replaces them: a.html, a.txt\n',
    exitCode: 1,
  })
  expect(readFileSync(join(directory, 'mail/a.html'), 'utf8')).toBe('mine')
  expect(await pull('a', '--directory', 'mail', '--overwrite')).toMatchObject({ stdout: 'a.html\na.txt removed\n', exitCode: 0 })
  expect(await push('a.html')).toMatchObject({ stdout: 'a unchanged\n' })
  expect(await pull('gone')).toMatchObject({ exitCode: 1, stderr: 'sterna: There is no template with this id or alias.\n' })
})

test('a template without an alias goes by its id', async () => {
  const { directory, accountId, templates, push, pull, write } = await start()
  const { id } = await templates.create(accountId, {
    name: 'x',
    alias: null,
    subject: 's',
    html: 'one',
    text: null,
    from: null,
    replyTo: [],
    variables: [],
    layout: null,
  })
  await pull('--directory', 'mail')
  expect(readFileSync(join(directory, 'mail', `${id}.html`), 'utf8')).toBe('one')
  write({ [`${id}.html`]: 'two' })
  expect((await push(`${id}.html`)).stdout).toBe(`${id} updated\n`)
  expect(await templates.get(accountId, id)).toMatchObject({ html: 'two', alias: null, name: 'x' })
})

test('all of many are pulled', async () => {
  const { accountId, templates, pull } = await start()
  for (let i = 0; i < 205; i++) {
    await templates.create(accountId, {
      name: 'x',
      alias: `a${i}`,
      subject: null,
      html: 'x',
      text: null,
      from: null,
      replyTo: [],
      variables: [],
      layout: null,
    })
  }
  expect((await pull('--directory', 'all')).stdout.match(/\.html$/gm)).toHaveLength(205)
})

test('by the command line', async () => {
  const directory = testDirectory()
  const env = { STERNA_DATA_DIR: 'data', STERNA_HOSTNAME: 'mail.example.com' }
  const sterna = (...argv: string[]) => runInOwnProcess(argv, { cwd: directory, env })
  expect(await sterna(...firstAccount(directory, 'shop', 'free'))).toMatchObject({ exitCode: 0 })
  writeFileSync(join(directory, 'order.html'), mjml)
  expect(await sterna('template', 'push', 'order.html', '--publish', '--account', 'shop')).toEqual({
    stdout: 'order created, published as version 1\n',
    stderr: '',
    exitCode: 0,
  })
  expect(await sterna('template', 'pull', 'order', '--directory', 'out', '--account', 'shop')).toEqual({
    stdout: 'order.html\norder.subject\norder.json\n',
    stderr: '',
    exitCode: 0,
  })
  expect(readFileSync(join(directory, 'out/order.html')).equals(mjml)).toBe(true)
  expect(await sterna('template', 'push', 'order.html')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/--account is missing/),
  })
})
