import './either.ts';
