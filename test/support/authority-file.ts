import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testDirectory } from './temporary-directory.ts'
import type { TestCertificate } from './test-certificates.ts'

/** A file of authorities, these, for the running test. */
export function authorityFile(...of: Pick<TestCertificate, 'cert'>[]): string {
  const file = join(testDirectory(), 'ca.pem')
  writeFileSync(file, of.map(({ cert }) => cert).join('\n'))
  return file
}
