import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { judgeFiles, rewriteFile } from '../../../src/clients/command/tracked-files.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())
const html = Buffer.from('<p>\xe9</p><a href="https://shop.example/?a=1&amp;b=\xe9">x</a><a href="mailto:a@b.example">y</a>', 'latin1')
writeFileSync(join(directory.path, 'mail.html'), html)

const rewrite = (file: string, options: Record<string, string | boolean> = {}): Promise<Buffer> =>
  rewriteFile({ args: [file], options, cwd: directory.path }, 0).then(({ stdout }) => Buffer.from(stdout))

test('the file is printed with other values, and every other byte as it is', async () => {
  const printed = (await rewrite('mail.html', { charset: 'windows-1252' })).toString('latin1')
  expect(printed).toMatch(
    /^<p>\xe9<\/p><a href="https:\/\/track\.example\/t\/c\/[0-9a-z]{48}\/[\w-]+">x<\/a><a href="mailto:a@b\.example">y<\/a>$/,
  )
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

describe('judging', () => {
  const line = (id: string, ip: string): string =>
    JSON.stringify({
      id,
      links: 5,
      honeypot: false,
      scheme: 'https',
      hits: [{ what: 'click:0', after_delivery_s: 900, method: 'GET', headers: { 'user-agent': 'Lynx/2.9', 'accept-language': 'en' }, ip }],
    })
  const judge = (text: string, networks: string[] = []): ReturnType<typeof judgeFiles> => {
    writeFileSync(join(directory.path, 'hits.jsonl'), text)
    return judgeFiles({ args: ['hits.jsonl'], options: {}, cwd: directory.path }, networks)
  }

  test('each line has its verdicts, as one line', async () => {
    const { stdout, exitCode } = await judge(`${line('a', '203.0.113.9')}\r\n\n${line('b', '104.47.1.1')}\n`)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((one) => JSON.parse(one) as unknown),
    ).toEqual([
      { id: 'a', hits: [{ bot: false, reason: null, confidence: 0.1 }] },
      { id: 'b', hits: [{ bot: true, reason: 'scanner_network', confidence: 0.955 }] },
    ])
    expect(exitCode).toBe(0)
  })

  test("an operator's networks count", async () => {
    expect((await judge(line('a', '203.0.113.9'), ['203.0.113.0/24'])).stdout).toContain('"bot":true')
  })

  test.each([
    ['{', 'the line is not JSON'],
    ['[]', 'the line is not a JSON object'],
    [line('a', '').replace('"links":5', '"links":"5"'), 'links must be a number'],
    [line('a', '').replace('https', 'ftp'), 'scheme must be "http" or "https"'],
    [line('a', '').replace('click:0', 'click'), 'hits[0]: what must be "open", "click:<n>" or "honeypot"'],
    [line('a', '').replace('"en"', '7'), 'hits[0]: headers must be an object of strings'],
  ])('%s is told with file and line, and the others are judged', async (wrong, told) => {
    const { stdout, stderr, exitCode } = await judge(`${line('a', '203.0.113.9')}\n${wrong}\n${line('c', '203.0.113.9')}\n`)
    expect(stderr).toBe(`sterna: hits.jsonl:2: ${told}.\n`)
    expect(exitCode).toBe(1)
    expect(stdout.trimEnd().split('\n')).toHaveLength(2)
  })
})
