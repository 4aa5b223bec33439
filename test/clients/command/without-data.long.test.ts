import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownOptions } from '../../../src/clients/command/command-line.ts'
import { commands } from '../../../src/clients/command/command-list.ts'
import { needOf, type Command } from '../../../src/clients/command/command.ts'
import { lineOf } from '../../support/command-lines.ts'
import { inOtherProcess } from '../../support/other-process.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const bare = (options: Record<string, string> = {}) => ({ args: [], options, cwd: '/' })
const needsData = (command: Command): boolean => ['any data', 'data'].includes(needOf(command, bare()))

test('the commands that need no data of a server are few, and known', () => {
  expect(commands.filter((command) => !needsData(command)).map(({ name }) => name)).toEqual([
    'serve',
    'apply',
    'backup list',
    'backup identity',
    'restore',
    'store copy',
    'key generate',
    'feedback parse',
    'reply explain',
    'tracking rewrite',
    'tracking judge',
    'bench',
    'version',
    'help',
  ])
  const doctor = commands.find(({ name }) => name === 'doctor') as Command
  expect([needOf(doctor, bare()), needOf(doctor, bare({ of: 'mail.example' }))]).toEqual(['data', 'settings'])
})

interface Ran {
  line: string
  exitCode: number
  stderr: string
  made: boolean
}

test('every other command refuses where there is no data of a server, and makes nothing', () => {
  const directory = testDirectory()
  const work = join(directory, 'work')
  mkdirSync(work)
  writeFileSync(join(work, 'x.html'), 'x')
  const lines = commands.filter(needsData).flatMap((command) => {
    const line = lineOf(command)
    return 'dry-run' in ownOptions(command) ? [line, [...line, '--dry-run']] : [line]
  })
  // As in a process of its own each, but in one for all: each start takes a second on a busy machine.
  const { stdout, stderr } = inOtherProcess(
    `
    const { existsSync } = await import('node:fs')
    process.chdir(given.work)
    process.env.STERNA_DNS_SERVERS = '127.0.0.1:1'
    const { main } = await source('server/main.ts')
    const write = process.stdout.write.bind(process.stdout)
    process.stdout.setMaxListeners(0)
    const ran = []
    for (const line of given.lines) {
      let stderr = ''
      process.stdout.write = () => true
      process.stderr.write = (text) => (stderr += text)
      const exitCode = await main(line)
      ran.push({ line: line.join(' '), exitCode, stderr, made: existsSync('data') })
    }
    write(JSON.stringify(ran))`,
    { work, lines },
  )
  expect(stderr).toBe('')
  const ran = JSON.parse(stdout) as Ran[]
  expect(ran).toHaveLength(lines.length)
  const refused = /^sterna: (?:There is no server's data in \S+data\. .*STERNA_DATA_DIR|No server runs on \S+data)/
  for (const each of ran) expect(each).toEqual({ ...each, exitCode: 1, stderr: expect.stringMatching(refused), made: false })
  expect(readdirSync(work)).toEqual(['x.html'])
  expect(existsSync(join(work, 'data'))).toBe(false)
})
