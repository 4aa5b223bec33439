import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The words that make a server's data with a first account, before a server has run: other commands refuse where there is none. */
export function firstAccount(directory: string, name: string, plan: string): string[] {
  const file = join(directory, 'first-account.yml')
  mkdirSync(directory, { recursive: true })
  writeFileSync(file, `accounts: [{name: ${name}, plan: ${plan}}]\n`)
  return ['apply', file, '--yes']
}
