import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
const documents = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'src/README.md', ...pages.map((name) => `docs/${name}`)]
const repository = 'https://github.com/sterna-mail/sterna'

test('the README is read in five minutes, and the first commands come early', () => {
  const words = read('README.md').trim().split(/\s+/)
  expect(words.length).toBeLessThanOrEqual(900)
  const text = words.join(' ')
  const places = [`git clone ${repository}`, 'npm ci && npm start', 'npm ci && npm test', 'docker compose up -d'].map((command) =>
    text.indexOf(command),
  )
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
})

test('only the README says where the repository is', () => {
  expect(documents.filter((path) => path !== 'README.md' && read(path).includes(repository))).toEqual([])
})

test('every link between documents leads to a file and a heading that exist', () => {
  const broken = documents.flatMap((path) =>
    linksOf(read(path))
      .filter((link) => !leadsSomewhere(path, link))
      .map((link) => `${path}: ${link}`),
  )
  expect(broken).toEqual([])
})

test('the list of documents has every page', () => {
  const listed = linksOf(read('docs/README.md'))
  expect(pages.filter((name) => name !== 'README.md' && !listed.includes(name))).toEqual([])
})

/** The targets of Markdown links, but those to other hosts; code is left out. */
function linksOf(markdown: string): string[] {
  const prose = markdown.replaceAll(/```[^]*?```|`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!).filter((target) => !/^\w+:/.test(target))
}

function leadsSomewhere(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const path = file === '' ? from : join(dirname(from), file)
  if (!existsSync(join(root, path))) return false
  return anchor === undefined || anchorsOf(read(path)).has(anchor)
}

/** Of headings, as GitHub makes them. */
const anchorsOf = (markdown: string): Set<string> =>
  new Set(
    [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
