import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { rewriteFile } from '../../src/command/tracking-commands.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())
const html = Buffer.from('<p>\xe9</p><a href="https://shop.example/?a=1&amp;b=\xe9">x</a><a href="mailto:a@b.example">y</a>', 'latin1')
writeFileSync(join(directory.path, 'mail.html'), html)

const rewrite = (file: string, options: Record<string, string | boolean> = {}): Promise<Buffer> =>
  rewriteFile({ args: [file], options, cwd: directory.path }, 0)

test('the file is printed with other values, and every other byte as it is', async () => {
  const printed = (await rewrite('mail.html', { charset: 'windows-1252' })).toString('latin1')
  expect(printed).toMatch(/^<p>\xe9<\/p><a href="https:\/\/track\.example\/t\/c\/[0-9a-z]{48}\/[\w-]+">x<\/a><a href="mailto:a@b\.example">y<\/a>$/)
})

test('with --links the places are told where the values lie', async () => {
  const [line = ''] = (await rewrite('mail.html', { charset: 'windows-1252', links: true })).toString().split('\n')
  const { start, end, target } = JSON.parse(line) as { start: number; end: number; target: string }
  expect(html.toString('latin1', start, end)).toBe('https://shop.example/?a=1&amp;b=\xe9')
  expect(target).toBe('https://shop.example/?a=1&b=é')
})

test('a file that is not there is told', async () => {
  await expect(rewrite('missing.html')).rejects.toThrow('There is no file missing.html.')
})
