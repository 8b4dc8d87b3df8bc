import { openSearch } from '../../search.ts';
import { HOSTILE_PIECES, testHostileText, testSpellings } from './spellings.ts';

const search = openSearch();

testSpellings({ seed: search.seed, runs: search.countOf(60) });
testHostileText(search.sliceOf(HOSTILE_PIECES));
