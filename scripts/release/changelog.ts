/** What the changelog says about one release, and the changelog with that release in it. */
export interface ReleaseNotes {
  changelog: string
  notes: string
}

const heading = '## Unreleased\n'

/**
 * Moves what stands under "Unreleased" under the new version.
 * @param date `2026-11-23`
 * @throws Error if there is no "Unreleased" section, or nothing in it
 */
export function releaseNotes(changelog: string, version: string, date: string): ReleaseNotes {
  const start = changelog.indexOf(heading)
  if (start < 0) throw new Error('CHANGELOG.md has no section "## Unreleased". Add one.')
  const from = start + heading.length
  const next = changelog.indexOf('\n## ', from)
  const end = next < 0 ? changelog.length : next
  const notes = changelog.slice(from, end).trim()
  if (!/^- /m.test(notes)) throw new Error('CHANGELOG.md has nothing under "Unreleased". Add a line for each change that users notice.')
  const released = `${changelog.slice(0, from)}\n## ${version} - ${date}\n\n${notes}\n`
  return { changelog: next < 0 ? released : released + changelog.slice(end), notes }
}

/**
 * The version that follows, by what `step` says.
 * @param step `patch`, `minor`, `major`, or a version of its own, which must be higher
 * @throws Error if it is none of these
 */
export function nextVersion(current: string, step: string): string {
  const [major = 0, minor = 0, patch = 0] = numbers(current)
  if (step === 'major') return `${major + 1}.0.0`
  if (step === 'minor') return `${major}.${minor + 1}.0`
  if (step === 'patch') return `${major}.${minor}.${patch + 1}`
  if (!/^\d+\.\d+\.\d+$/.test(step)) throw new Error(`"${step}" is not a version. Give patch, minor, major, or a version such as 1.2.3.`)
  if (!isHigher(numbers(step), numbers(current))) throw new Error(`${step} is not higher than ${current}.`)
  return step
}

const numbers = (version: string): number[] => version.split('.').map(Number)

function isHigher(one: number[], other: number[]): boolean {
  const place = one.findIndex((number, at) => number !== other[at])
  return place >= 0 && (one[place] ?? 0) > (other[place] ?? 0)
}
